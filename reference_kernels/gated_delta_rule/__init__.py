"""The gated delta rule: the linear attention of Gated DeltaNet, Qwen3-Next and Qwen3.5."""

from reference_kernels.gated_delta_rule.op import gated_delta_rule, gated_delta_rule_decode

__all__ = ["gated_delta_rule", "gated_delta_rule_decode"]
