BEGIN TRANSACTION;
CREATE TABLE builds (
    digest TEXT PRIMARY KEY,
    candidate TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE candidates (
    digest TEXT PRIMARY KEY,
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    target TEXT NOT NULL,
    record TEXT NOT NULL
);
INSERT INTO "candidates" VALUES('42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede','toy','xla','cpu','{"op":"toy","implementation":"xla","target":"cpu","files":{"xla.py":"\"\"\"A toy module.\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n@dataclass(frozen=True)\nclass Config:\n    \"\"\"Choices.\"\"\"\n\n    block: int = field(default=8, metadata={\"choices\": (4, 8, 16)})\n    form: str = field(default=\"scan\", metadata={\"choices\": (\"scan\", \"map\")})\n\n\ndef forward(*, x, w, config=Config()):\n    \"\"\"`[rows, dim] -> [rows, dim]`.\"\"\"\n\n    def body(carry, row):\n        gain = jnp.exp(w) * jnp.exp(w)\n        carry = carry + row * gain\n        return carry, carry\n\n    _, out = lax.scan(body, jnp.zeros_like(w), x)\n    scores = jnp.einsum(\"ij,kj->ik\", out, x, precision=lax.Precision.HIGHEST)\n    left = scores @ x\n    right = scores @ out\n    y = (left + right).astype(x.dtype)\n    return y / jnp.sqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)\n"}}');
INSERT INTO "candidates" VALUES('f426aefcb8e3218b0b9bb16a9b0ad4f6d7db312d50f7492aedbf30787aa45a1a','toy','xla','cpu','{"op":"toy","implementation":"xla","target":"cpu","files":{"xla.py":"\"\"\"A toy module.\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n@dataclass(frozen=True)\nclass Config:\n    \"\"\"Choices.\"\"\"\n\n    block: int = field(default=8, metadata={\"choices\": (4, 8, 16)})\n    form: str = field(default=\"scan\", metadata={\"choices\": (\"scan\", \"map\")})\n\n\ndef forward(*, x, w, config=Config()):\n    \"\"\"`[rows, dim] -> [rows, dim]`.\"\"\"\n\n    def body(carry, row):\n        gain = jnp.exp(w) * jnp.exp(w)\n        carry = carry + row * gain\n        return carry, carry\n\n    _, out = lax.scan(body, jnp.zeros_like(w), x)\n    scores = jnp.einsum(\"ij,kj->ik\", out, x, precision=lax.Precision.HIGHEST)\n    left = scores @ x\n    right = scores @ out\n    y = (left + right)\n    return y / jnp.sqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)\n"}}');
INSERT INTO "candidates" VALUES('c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca','toy','xla','cpu','{"op":"toy","implementation":"xla","target":"cpu","files":{"xla.py":"\"\"\"A toy module.\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n@dataclass(frozen=True)\nclass Config:\n    \"\"\"Choices.\"\"\"\n\n    block: int = field(default=8, metadata={\"choices\": (4, 8, 16)})\n    form: str = field(default=\"scan\", metadata={\"choices\": (\"scan\", \"map\")})\n\n\ndef forward(*, x, w, config=Config()):\n    \"\"\"`[rows, dim] -> [rows, dim]`.\"\"\"\n\n    def body(carry, row):\n        gain = jnp.exp(2 * w)\n        carry = carry + row * gain\n        return carry, carry\n\n    _, out = lax.scan(body, jnp.zeros_like(w), x)\n    scores = jnp.einsum(\"ij,kj->ik\", out, x, precision=lax.Precision.HIGHEST)\n    left = scores @ x\n    right = scores @ out\n    y = (left + right).astype(x.dtype)\n    return y / jnp.sqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)\nX = 0\n"}}');
INSERT INTO "candidates" VALUES('ae1b70e3b0259b58507d9e0d83afb7e261f475530d16f87b3d21cac378cc3687','toy','xla','cpu','{"op":"toy","implementation":"xla","target":"cpu","files":{"xla.py":"\"\"\"A toy module.\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n@dataclass(frozen=True)\nclass Config:\n    \"\"\"Choices.\"\"\"\n\n    block: int = field(default=8, metadata={\"choices\": (4, 8, 16)})\n    form: str = field(default=\"scan\", metadata={\"choices\": (\"scan\", \"map\")})\n\n\ndef forward(*, x, w, config=Config()):\n    \"\"\"`[rows, dim] -> [rows, dim]`.\"\"\"\n\n    def body(carry, row):\n        gain = jnp.exp(2 * w)\n        carry = carry + row * gain\n        return carry, carry\n\n    _, out = lax.scan(body, jnp.zeros_like(w), x)\n    scores = jnp.einsum(\"ij,kj->ik\", out, x, precision=lax.Precision.HIGHEST)\n    left = scores @ x\n    right = scores @ out\n    y = (left + right).astype(x.dtype)\n    return y / jnp.sqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)\nX = 1\n"}}');
INSERT INTO "candidates" VALUES('d9b91bcba7e6350b13012a3369afe443f0f10b4f03cb19b0fc08e1c0332e3739','toy','xla','cpu','{"op":"toy","implementation":"xla","target":"cpu","files":{"xla.py":"\"\"\"A toy module.\"\"\"\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n@dataclass(frozen=True)\nclass Config:\n    \"\"\"Choices.\"\"\"\n\n    block: int = field(default=8, metadata={\"choices\": (4, 8, 16)})\n    form: str = field(default=\"scan\", metadata={\"choices\": (\"scan\", \"map\")})\n\n\ndef forward(*, x, w, config=Config()):\n    \"\"\"`[rows, dim] -> [rows, dim]`.\"\"\"\n\n    def body(carry, row):\n        gain = jnp.exp(2 * w)\n        carry = carry + row * gain\n        return carry, carry\n\n    _, out = lax.scan(body, jnp.zeros_like(w), x)\n    scores = jnp.einsum(\"ij,kj->ik\", out, x, precision=lax.Precision.HIGHEST)\n    left = scores @ x\n    right = scores @ out\n    y = (left + right)\n    return y / jnp.sqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)\nX = 0\n"}}');
CREATE TABLE charges (
    run TEXT NOT NULL REFERENCES runs (id),
    reference TEXT NOT NULL,
    nanodollars INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    device_ns INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    candidates INTEGER NOT NULL,
    PRIMARY KEY (run, reference)
) WITHOUT ROWID;
INSERT INTO "charges" VALUES('20261201-053752-2cdc','intent:20261201-053752-2cdc/0',120000,120,0,0,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','intent:20261201-053752-2cdc/2',120000,120,0,0,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','judge:05e60844fc7c77b458164c7516d3b22bef41a34a54ab4680c256051586ce587d',0,0,3000000000,0,1);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','judge:1b4e2a0d4c2d30bde32d012052c506881d9a73442e77321f42b03a34560c046c',0,0,3000000000,0,1);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','judge:e8d66982a32b036f24f914badcbef759274a0859f67dbd30051dc3d2b711872e',0,0,3000000000,0,1);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:0',0,0,0,1139343361,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:1',0,0,0,14120234,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:2',0,0,0,4789463830,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:3',0,0,0,6724823,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:4',0,0,0,6518168,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:5',0,0,0,6396017,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:6',0,0,0,5196337,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:7',0,0,0,3616895,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:8',0,0,0,3628164,0);
INSERT INTO "charges" VALUES('20261201-053752-2cdc','wall:540edbd9cf413d8e:9',0,0,0,233681889,0);
CREATE TABLE environments (
    digest TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    device_kind TEXT NOT NULL,
    toolchain TEXT NOT NULL,
    backend TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE TABLE intents (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    purpose TEXT NOT NULL,
    prompt_digest TEXT NOT NULL,
    worst_nanodollars INTEGER NOT NULL CHECK (worst_nanodollars >= 0),
    worst_tokens INTEGER NOT NULL CHECK (worst_tokens >= 0),
    state TEXT NOT NULL CHECK (state IN ('open', 'replied', 'settled', 'abandoned')),
    reply_digest TEXT,
    nanodollars INTEGER,
    tokens_in INTEGER,
    tokens_out INTEGER,
    note TEXT NOT NULL DEFAULT '',
    logged_at TEXT NOT NULL,
    replied_at TEXT,
    settled_at TEXT
);
INSERT INTO "intents" VALUES('20261201-053752-2cdc/0','20261201-053752-2cdc','propose with openai/scripted','096b3d6c1738573e4cea5d24929520d89cc09adeafd0c2eef4b6c6071dc9ab23',4601000,4601,'settled','d58eb9452103ef47ea0c0ca779efaeb664fe025ddbf4f21754d8134885b816a1',120000,100,20,'','2026-12-01T05:37:53.709495+00:00','2026-12-01T05:37:58.307913+00:00','2026-12-01T05:37:58.315413+00:00');
INSERT INTO "intents" VALUES('20261201-053752-2cdc/2','20261201-053752-2cdc','propose with openai/scripted','82269d6274751f7edf683af6a726c284ab24bb9ba8d47eb813f6e64024438331',6811000,6811,'settled','dc6f469d5020a143a0e12c1bbe0a761a32b9cfe55b5fd6b9ba65035b63371fc7',120000,100,20,'','2026-12-01T05:37:58.369337+00:00','2026-12-01T05:37:58.431296+00:00','2026-12-01T05:37:58.465652+00:00');
CREATE TABLE migrations (name TEXT PRIMARY KEY, position INTEGER NOT NULL);
INSERT INTO "migrations" VALUES('0001-records',0);
INSERT INTO "migrations" VALUES('0002-ledger',1);
INSERT INTO "migrations" VALUES('0003-samples',2);
CREATE TABLE promotions (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    run TEXT REFERENCES runs (id),
    op TEXT NOT NULL,
    candidate TEXT NOT NULL REFERENCES candidates (digest),
    verdict TEXT NOT NULL REFERENCES verdicts (digest),
    decision TEXT NOT NULL,
    decided_at TEXT NOT NULL,
    evidence TEXT,
    record TEXT NOT NULL
);
CREATE TABLE proposals (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL REFERENCES runs (id),
    candidate TEXT REFERENCES candidates (digest),
    parent TEXT NOT NULL,
    proposer TEXT NOT NULL,
    kind TEXT NOT NULL,
    proposed_at TEXT NOT NULL,
    record TEXT NOT NULL
);
INSERT INTO "proposals" VALUES(1,'20261201-053752-2cdc/1','20261201-053752-2cdc','f426aefcb8e3218b0b9bb16a9b0ad4f6d7db312d50f7492aedbf30787aa45a1a','42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede','rewrite','source','2026-12-01T05:37:54.121882+00:00','{"id":"20261201-053752-2cdc/1","run":"20261201-053752-2cdc","proposer":"rewrite","kind":"source","parent":"42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede","candidate":"f426aefcb8e3218b0b9bb16a9b0ad4f6d7db312d50f7492aedbf30787aa45a1a","rationale":"drop_astype: (left + right).astype(x.dtype) -> (left + right). a conversion that is not needed costs a pass, and a wider dtype costs bandwidth.","failure":"","prompt_digest":null,"reply_digest":null,"tokens_in":0,"tokens_out":0,"dollars":0.0,"duration_ns":527741175,"proposed_at":"2026-12-01T05:37:54.121882+00:00"}');
INSERT INTO "proposals" VALUES(2,'20261201-053752-2cdc/0','20261201-053752-2cdc','c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca','42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede','llm','source','2026-12-01T05:37:58.319148+00:00','{"id":"20261201-053752-2cdc/0","run":"20261201-053752-2cdc","proposer":"llm","kind":"source","parent":"42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede","candidate":"c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca","rationale":"One.","failure":"","prompt_digest":"096b3d6c1738573e4cea5d24929520d89cc09adeafd0c2eef4b6c6071dc9ab23","reply_digest":"d58eb9452103ef47ea0c0ca779efaeb664fe025ddbf4f21754d8134885b816a1","tokens_in":100,"tokens_out":20,"dollars":0.00012,"duration_ns":4733689929,"proposed_at":"2026-12-01T05:37:58.319148+00:00"}');
INSERT INTO "proposals" VALUES(3,'20261201-053752-2cdc/2','20261201-053752-2cdc','ae1b70e3b0259b58507d9e0d83afb7e261f475530d16f87b3d21cac378cc3687','c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca','llm','source','2026-12-01T05:37:58.499815+00:00','{"id":"20261201-053752-2cdc/2","run":"20261201-053752-2cdc","proposer":"llm","kind":"source","parent":"c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca","candidate":"ae1b70e3b0259b58507d9e0d83afb7e261f475530d16f87b3d21cac378cc3687","rationale":"One.","failure":"","prompt_digest":"82269d6274751f7edf683af6a726c284ab24bb9ba8d47eb813f6e64024438331","reply_digest":"dc6f469d5020a143a0e12c1bbe0a761a32b9cfe55b5fd6b9ba65035b63371fc7","tokens_in":100,"tokens_out":20,"dollars":0.00012,"duration_ns":120105665,"proposed_at":"2026-12-01T05:37:58.499815+00:00"}');
INSERT INTO "proposals" VALUES(4,'20261201-053752-2cdc/3','20261201-053752-2cdc','d9b91bcba7e6350b13012a3369afe443f0f10b4f03cb19b0fc08e1c0332e3739','c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca','rewrite','source','2026-12-01T05:37:58.583745+00:00','{"id":"20261201-053752-2cdc/3","run":"20261201-053752-2cdc","proposer":"rewrite","kind":"source","parent":"c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca","candidate":"d9b91bcba7e6350b13012a3369afe443f0f10b4f03cb19b0fc08e1c0332e3739","rationale":"drop_astype: (left + right).astype(x.dtype) -> (left + right). a conversion that is not needed costs a pass, and a wider dtype costs bandwidth.","failure":"","prompt_digest":null,"reply_digest":null,"tokens_in":0,"tokens_out":0,"dollars":0.0,"duration_ns":209278026,"proposed_at":"2026-12-01T05:37:58.583745+00:00"}');
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    target TEXT NOT NULL,
    case_name TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    started_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'finished', 'stopped', 'failed')),
    ended_at TEXT,
    end_reason TEXT NOT NULL DEFAULT '',
    record TEXT NOT NULL
);
INSERT INTO "runs" VALUES('20261201-053752-2cdc','toy','xla','cpu','steering','','2026-12-01T05:37:52.370241+00:00','open',NULL,'','{"id":"20261201-053752-2cdc","op":"toy","implementation":"xla","target":"cpu","case":"steering","budget":{"dollars":1.0,"tokens":null,"device_s":null,"wall_s":null,"candidates":50},"base_commit":"","settings":{"op":"toy","implementation":"","target":"cpu","case":null,"proposers":[{"name":"llm","weight":1},{"name":"rewrite","weight":1}],"width":2,"rounds":3,"patience":9,"seed":0,"model":"openai/scripted","base_url":"http://127.0.0.1:1/v1","temperature":null,"reasoning_effort":null,"max_tokens":1000,"request_timeout_s":600.0,"retries":0,"price_in":1.0,"price_out":1.0,"budget":{"dollars":1.0,"tokens":null,"device_s":null,"wall_s":null,"candidates":50},"promote":1,"stop_at_speed_of_light":0.95,"patches":[],"incumbent":"42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede"},"started_at":"2026-12-01T05:37:52.370241+00:00"}');
CREATE TABLE samples (
    series INTEGER NOT NULL REFERENCES series (id),
    sequence INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    PRIMARY KEY (series, sequence)
) WITHOUT ROWID;
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    verdict TEXT REFERENCES verdicts (digest),
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    subject TEXT NOT NULL,
    target TEXT NOT NULL,
    entry TEXT NOT NULL,
    case_name TEXT NOT NULL,
    process INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('baseline', 'candidate', 'control')),
    clock TEXT NOT NULL CHECK (clock IN ('device', 'wall')),
    environment TEXT NOT NULL REFERENCES environments (digest),
    commit_id TEXT NOT NULL,
    taken_at TEXT NOT NULL
);
CREATE TABLE verdict_cases (
    verdict TEXT NOT NULL REFERENCES verdicts (digest),
    case_name TEXT NOT NULL,
    PRIMARY KEY (verdict, case_name)
) WITHOUT ROWID;
INSERT INTO "verdict_cases" VALUES('05e60844fc7c77b458164c7516d3b22bef41a34a54ab4680c256051586ce587d','steering');
INSERT INTO "verdict_cases" VALUES('1b4e2a0d4c2d30bde32d012052c506881d9a73442e77321f42b03a34560c046c','steering');
INSERT INTO "verdict_cases" VALUES('e8d66982a32b036f24f914badcbef759274a0859f67dbd30051dc3d2b711872e','steering');
CREATE TABLE verdicts (
    sequence INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    candidate TEXT NOT NULL REFERENCES candidates (digest),
    incumbent TEXT NOT NULL REFERENCES candidates (digest),
    op TEXT NOT NULL,
    implementation TEXT NOT NULL,
    target TEXT NOT NULL,
    tier TEXT NOT NULL,
    trust TEXT NOT NULL,
    status TEXT NOT NULL,
    ratio REAL,
    low REAL,
    high REAL,
    environment TEXT REFERENCES environments (digest),
    toolchain TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    judged_at TEXT NOT NULL,
    record TEXT NOT NULL
);
INSERT INTO "verdicts" VALUES(1,'05e60844fc7c77b458164c7516d3b22bef41a34a54ab4680c256051586ce587d','c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca','42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede','toy','xla','cpu','screen','artefact','faster',1.14851162126729633428e+00,1.12851162126729631651e+00,1.16851162126729635204e+00,NULL,'','','2026-12-01T05:37:58.331615+00:00','{"candidate":"c2f21780ca41198d7d60f5443c6ee1207776fef427717008c30920f4d794cdca","builds":[],"op":"toy","implementation":"xla","target":"cpu","tier":"screen","trust":"artefact","status":"faster","reason":"1.149 times the baseline''s speed","gates":[{"name":"numerics","passed":true,"detail":"","numbers":{}}],"errors":[{"entry":"forward","case":"steering","distribution":"typical","leaf":"","kind":"total","error":0.1,"allowed":0.2,"where":""}],"timings":[{"entry":"forward","case":"steering","baseline":"xla","pairs_ns":[[1000,871],[1000,871],[1000,871]],"control_pairs_ns":[[1000,1000]],"wall_pairs_ns":[[2000,2000]],"ratio":1.1485116212672963,"low":1.1285116212672963,"high":1.1685116212672964,"confidence":0.95,"control_spread":0.01,"worse_p":0.01,"roofline_ns":100.0,"speed_of_light":0.1148105625717566,"baseline_median_ns":1000.0,"candidate_median_ns":871.0,"process":0}],"effect":{"ratio":1.1485116212672963,"low":1.1285116212672963,"high":1.1685116212672964,"confidence":0.95,"candidates_measured":1},"environment":null,"seeds":[424242],"traces":[],"validity":[],"log":"","stage_ns":{"build":5000000000,"numerics":1000000000,"timing":2000000000},"facts":{},"judged_at":"2026-12-01T05:37:58.331615+00:00"}');
INSERT INTO "verdicts" VALUES(2,'1b4e2a0d4c2d30bde32d012052c506881d9a73442e77321f42b03a34560c046c','f426aefcb8e3218b0b9bb16a9b0ad4f6d7db312d50f7492aedbf30787aa45a1a','42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede','toy','xla','cpu','screen','artefact','faster',1.0784703659099559303e+00,1.05847036590995591254e+00,1.09847036590995594806e+00,NULL,'','','2026-12-01T05:37:58.344904+00:00','{"candidate":"f426aefcb8e3218b0b9bb16a9b0ad4f6d7db312d50f7492aedbf30787aa45a1a","builds":[],"op":"toy","implementation":"xla","target":"cpu","tier":"screen","trust":"artefact","status":"faster","reason":"1.078 times the baseline''s speed","gates":[{"name":"numerics","passed":true,"detail":"","numbers":{}}],"errors":[{"entry":"forward","case":"steering","distribution":"typical","leaf":"","kind":"total","error":0.1,"allowed":0.2,"where":""}],"timings":[{"entry":"forward","case":"steering","baseline":"xla","pairs_ns":[[1000,927],[1000,927],[1000,927]],"control_pairs_ns":[[1000,1000]],"wall_pairs_ns":[[2000,2000]],"ratio":1.078470365909956,"low":1.058470365909956,"high":1.098470365909956,"confidence":0.95,"control_spread":0.01,"worse_p":0.01,"roofline_ns":100.0,"speed_of_light":0.10787486515641856,"baseline_median_ns":1000.0,"candidate_median_ns":927.0,"process":0}],"effect":{"ratio":1.078470365909956,"low":1.058470365909956,"high":1.098470365909956,"confidence":0.95,"candidates_measured":1},"environment":null,"seeds":[424242],"traces":[],"validity":[],"log":"","stage_ns":{"build":5000000000,"numerics":1000000000,"timing":2000000000},"facts":{},"judged_at":"2026-12-01T05:37:58.344904+00:00"}');
INSERT INTO "verdicts" VALUES(3,'e8d66982a32b036f24f914badcbef759274a0859f67dbd30051dc3d2b711872e','ae1b70e3b0259b58507d9e0d83afb7e261f475530d16f87b3d21cac378cc3687','42b2e8e77b7ecf690dccd37b95a2c3f32321d1b8b39938d414a3b5e9cbfd3ede','toy','xla','cpu','screen','artefact','slower',9.11924893374734812923e-01,8.91924893374734795159e-01,9.31924893374734830686e-01,NULL,'','','2026-12-01T05:37:58.597297+00:00','{"candidate":"ae1b70e3b0259b58507d9e0d83afb7e261f475530d16f87b3d21cac378cc3687","builds":[],"op":"toy","implementation":"xla","target":"cpu","tier":"screen","trust":"artefact","status":"slower","reason":"0.912 times the baseline''s speed","gates":[{"name":"numerics","passed":true,"detail":"","numbers":{}}],"errors":[{"entry":"forward","case":"steering","distribution":"typical","leaf":"","kind":"total","error":0.1,"allowed":0.2,"where":""}],"timings":[{"entry":"forward","case":"steering","baseline":"xla","pairs_ns":[[1000,1097],[1000,1097],[1000,1097]],"control_pairs_ns":[[1000,1000]],"wall_pairs_ns":[[2000,2000]],"ratio":0.9119248933747348,"low":0.8919248933747348,"high":0.9319248933747348,"confidence":0.95,"control_spread":0.01,"worse_p":0.01,"roofline_ns":100.0,"speed_of_light":0.09115770282588878,"baseline_median_ns":1000.0,"candidate_median_ns":1097.0,"process":0}],"effect":{"ratio":0.9119248933747348,"low":0.8919248933747348,"high":0.9319248933747348,"confidence":0.95,"candidates_measured":1},"environment":null,"seeds":[424242],"traces":[],"validity":[],"log":"","stage_ns":{"build":5000000000,"numerics":1000000000,"timing":2000000000},"facts":{},"judged_at":"2026-12-01T05:37:58.597297+00:00"}');
CREATE INDEX builds_of_candidate ON builds (candidate);
CREATE INDEX proposals_of_run ON proposals (run, sequence);
CREATE INDEX proposals_of_candidate ON proposals (candidate);
CREATE INDEX verdicts_of_candidate ON verdicts (candidate, tier, toolchain);
CREATE INDEX verdicts_of_op ON verdicts (op, status, judged_at);
CREATE INDEX promotions_by_id ON promotions (id, sequence);
CREATE INDEX promotions_of_verdict ON promotions (verdict);
CREATE INDEX intents_of_run ON intents (run, state);
CREATE INDEX series_of_cell ON series (op, entry, case_name, role, clock, taken_at);
CREATE INDEX series_of_verdict ON series (verdict);
COMMIT;
