"""Named shapes of `gated_delta_rule`.

Dims: `batch`, `seq`, `heads` (of queries and keys), `value_heads`, `key_dim`, `value_dim`, and
`initial` 1 where a state comes in. `decode` reads the same cases: one token for each of `batch`
sequences, `seq` ignored, always with a state. The full shapes carry `device`; their `cpu`
counterparts keep head sizes and the ratio of value heads to heads, and take fewer of both.
"""

from __future__ import annotations

from reference_kernels.problem import Case, case

# Every case names every static argument, so that its key is that of the public function's call.
MODEL = {"scale": None, "use_qk_l2norm": True}
NORMALISED_BEFORE = {"scale": None, "use_qk_l2norm": False}
OWN_SCALE = {"scale": 0.5, "use_qk_l2norm": False}

QWEN3_NEXT = "Qwen3-Next-80B-A3B"
QWEN35 = "Qwen3.5-397B-A17B"

CASES: tuple[Case, ...] = (
    # Seconds on a CPU; the awkward sizes live here.
    case(
        "tiny", "smoke",
        batch=2, seq=40, heads=1, value_heads=2, key_dim=16, value_dim=8, initial=1, static=MODEL,
    ),
    case(
        "tiny-bf16", "smoke", dtype="bfloat16",
        batch=1, seq=33, heads=2, value_heads=2, key_dim=16, value_dim=24, static=MODEL,
    ),
    case(
        "tiny-one-token", "smoke",
        batch=3, seq=1, heads=2, value_heads=4, key_dim=16, value_dim=16, initial=1,
        static=NORMALISED_BEFORE,
    ),
    case(
        "tiny-holdout", "smoke", "holdout",
        batch=1, seq=131, heads=1, value_heads=3, key_dim=24, value_dim=16, static=OWN_SCALE,
    ),
    case(
        "tiny-holdout-bf16", "smoke", "holdout", dtype="bfloat16",
        batch=2, seq=71, heads=2, value_heads=4, key_dim=16, value_dim=16, initial=1, static=MODEL,
    ),
    # Timed on a CPU.
    case(
        "qwen3-next-512", "cpu", "primary",
        batch=1, seq=512, heads=2, value_heads=4, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN3_NEXT,
    ),
    case(
        "qwen35-256-bf16", "cpu", dtype="bfloat16",
        batch=1, seq=256, heads=1, value_heads=4, key_dim=128, value_dim=128,
        static=MODEL, source=QWEN35,
    ),
    case(
        "qwen3-next-batch-4", "cpu",
        batch=4, seq=128, heads=1, value_heads=2, key_dim=128, value_dim=128,
        static=MODEL, source=QWEN3_NEXT,
    ),
    case(
        "qwen3-next-decode-16", "cpu",
        batch=16, seq=1, heads=1, value_heads=2, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN3_NEXT,
    ),
    # Never shown to a proposer.
    case(
        "holdout-347", "cpu", "holdout",
        batch=1, seq=347, heads=2, value_heads=4, key_dim=128, value_dim=128, static=MODEL,
    ),
    case(
        "holdout-2x93-bf16", "cpu", "holdout", dtype="bfloat16",
        batch=2, seq=93, heads=1, value_heads=2, key_dim=128, value_dim=128, initial=1,
        static=MODEL,
    ),
    case(
        "holdout-narrow-keys", "cpu", "holdout",
        batch=1, seq=201, heads=3, value_heads=3, key_dim=64, value_dim=128, initial=1,
        static=OWN_SCALE,
    ),
    case(
        "holdout-device", "device", "holdout", dtype="bfloat16",
        batch=2, seq=5003, heads=16, value_heads=32, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN3_NEXT,
    ),
    # Full shapes.
    case(
        "qwen3-next-prefill-8192", "device", "primary", dtype="bfloat16",
        batch=1, seq=8192, heads=16, value_heads=32, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN3_NEXT,
    ),
    case(
        "qwen35-prefill-8192", "device", "primary", dtype="bfloat16",
        batch=1, seq=8192, heads=16, value_heads=64, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN35,
    ),
    case(
        "qwen3-next-train-4096", "device", dtype="bfloat16",
        batch=4, seq=4096, heads=16, value_heads=32, key_dim=128, value_dim=128,
        static=MODEL, source=QWEN3_NEXT,
    ),
    case(
        "qwen3-next-decode-128", "device", dtype="bfloat16",
        batch=128, seq=1, heads=16, value_heads=32, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN3_NEXT,
    ),
    case(
        "qwen35-decode-64", "device", dtype="bfloat16",
        batch=64, seq=1, heads=16, value_heads=64, key_dim=128, value_dim=128, initial=1,
        static=MODEL, source=QWEN35,
    ),
    case(
        "qwen3-next-prefill-4096-f32", "device",
        batch=1, seq=4096, heads=16, value_heads=32, key_dim=128, value_dim=128,
        static=MODEL, source=QWEN3_NEXT,
    ),
)  # fmt: skip
