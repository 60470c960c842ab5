"""Code that runs inside the sandbox, beside the job. Stdlib only; never imported by the host."""
