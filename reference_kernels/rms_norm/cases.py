"""Named shapes of `rms_norm`.

Dims: `rows` and `dim`, `heads` for a norm of each head (`x` is then `[rows, heads, dim]`), and
`residual` 1 where the residual addition is fused in. The full shapes carry `device`; their `cpu`
counterparts keep the model's `dim` and take fewer rows.
"""

from __future__ import annotations

from reference_kernels.problem import Case, case

PLAIN_WEIGHT = {"eps": 1e-6, "weight_offset": 0.0}
LLAMA = {"eps": 1e-5, "weight_offset": 0.0}
ONE_PLUS_WEIGHT = {"eps": 1e-6, "weight_offset": 1.0}
KIMI = {"eps": 1e-5, "weight_offset": 0.0}

QWEN3_NEXT = "Qwen3-Next-80B-A3B"
LLAMA_70B = "Llama-3-70B"
DEEPSEEK = "DeepSeek-V3"

CASES: tuple[Case, ...] = (
    # Seconds on a CPU; the awkward sizes live here.
    case("tiny", "smoke", rows=5, dim=24, residual=1, static=PLAIN_WEIGHT),
    case("tiny-plus-one", "smoke", rows=6, dim=40, static=ONE_PLUS_WEIGHT),
    case(
        "tiny-bf16", "smoke", dtype="bfloat16",
        rows=7, dim=72, residual=1, static=ONE_PLUS_WEIGHT,
    ),
    case("ragged", "smoke", rows=37, dim=197, residual=1, static=LLAMA),
    case("ragged-bf16", "smoke", dtype="bfloat16", rows=19, dim=333, static=PLAIN_WEIGHT),
    case("tiny-heads", "smoke", rows=3, heads=5, dim=128, static=ONE_PLUS_WEIGHT),
    case(
        "kimi-linear-decode-1", "smoke", "cpu",
        rows=1, dim=2304, residual=1, static=KIMI, source="Kimi-Linear-48B-A3B",
    ),
    case(
        "holdout-tiny-bf16", "smoke", "holdout", dtype="bfloat16",
        rows=13, dim=47, residual=1, static=LLAMA,
    ),
    # Timed on a CPU.
    case(
        "qwen3-next-512", "cpu", "primary",
        rows=512, dim=2048, residual=1, static=ONE_PLUS_WEIGHT, source=QWEN3_NEXT,
    ),
    case(
        "qwen3-next-512-bf16", "cpu", dtype="bfloat16",
        rows=512, dim=2048, residual=1, static=ONE_PLUS_WEIGHT, source=QWEN3_NEXT,
    ),
    case(
        "llama3-70b-128", "cpu", "primary",
        rows=128, dim=8192, residual=1, static=LLAMA, source=LLAMA_70B,
    ),
    case(
        "deepseek-v3-61-bf16", "cpu", dtype="bfloat16",
        rows=61, dim=7168, static=PLAIN_WEIGHT, source=DEEPSEEK,
    ),
    case(
        "qwen3-qk-norm-256", "cpu",
        rows=256, heads=32, dim=128, static=PLAIN_WEIGHT, source="Qwen3-30B-A3B",
    ),
    # Never shown to a proposer.
    case("holdout-prime", "cpu", "holdout", rows=211, dim=1021, residual=1, static=PLAIN_WEIGHT),
    case(
        "holdout-prime-bf16", "cpu", "holdout", dtype="bfloat16",
        rows=101, dim=2879, residual=1, static=ONE_PLUS_WEIGHT,
    ),
    case(
        "holdout-heads", "cpu", "holdout",
        rows=89, heads=7, dim=192, static=LLAMA, source="DeepSeek-V3: nope + rope",
    ),
    case(
        "holdout-device", "device", "holdout", dtype="bfloat16",
        rows=4099, dim=2880, residual=1, static=LLAMA, source="gpt-oss-120b",
    ),
    # Full shapes.
    case(
        "llama3-70b-prefill-8192", "device", "primary", dtype="bfloat16",
        rows=8192, dim=8192, residual=1, static=LLAMA, source=LLAMA_70B,
    ),
    case(
        "qwen3-next-prefill-8192", "device", "primary", dtype="bfloat16",
        rows=8192, dim=2048, residual=1, static=ONE_PLUS_WEIGHT, source=QWEN3_NEXT,
    ),
    case(
        "deepseek-v3-prefill-4096", "device", dtype="bfloat16",
        rows=4096, dim=7168, residual=1, static=PLAIN_WEIGHT, source=DEEPSEEK,
    ),
    case(
        "deepseek-v3-kv-lora-4096", "device", dtype="bfloat16",
        rows=4096, dim=512, static=PLAIN_WEIGHT, source=DEEPSEEK,
    ),
    case(
        "kimi-linear-packed-8192", "device", dtype="bfloat16",
        rows=8192, dim=2304, residual=1, static=KIMI, source="Kimi-Linear-48B-A3B",
    ),
    case(
        "qwen3-qk-norm-8192", "device", dtype="bfloat16",
        rows=8192, heads=64, dim=128, static=PLAIN_WEIGHT, source="Qwen3-235B-A22B",
    ),
    case(
        "llama3-70b-decode-128", "device", dtype="bfloat16",
        rows=128, dim=8192, residual=1, static=LLAMA, source=LLAMA_70B,
    ),
    case(
        "qwen3-next-train-4096-f32", "device",
        rows=4096, dim=2048, residual=1, static=ONE_PLUS_WEIGHT, source=QWEN3_NEXT,
    ),
)  # fmt: skip
