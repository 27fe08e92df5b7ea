# Commands that developers run often. `just` lists them; CONTRIBUTING.md explains them.

_default:
    @just --list

# A claim from nothing to a cluster and back, on real control planes
demo *ARGUMENTS:
    cargo demo {{ARGUMENTS}}

# The quick tier of the tests
test:
    cargo test --workspace --locked

# Every test, or every test whose name contains NAME
whole *NAME:
    cargo whole {{NAME}}

# Formatting and lints, as CI runs them
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Rewrite examples, budgets and the table of scenarios after an intended change
snapshots:
    SNAPSHOTS=overwrite cargo test --locked -p function-testplatform --test it -- examples:: budgets::
    SNAPSHOTS=overwrite cargo test --locked -p kubectl-testplatform --test it -- examples man::
    SNAPSHOTS=overwrite cargo test --locked -p provider-testplatform --test it config::the_schema
    SNAPSHOTS=overwrite cargo test --locked -p function-testplatform -p provider-testplatform --lib exported_metrics
    SNAPSHOTS=overwrite cargo test --locked -p testplatform-package --test it reference::
    SNAPSHOTS=overwrite cargo test --locked -p testplatform-tests --test it table::

# Rewrite what is generated from the types: XRDs, CRDs, RBAC, alerts
generate:
    cargo xpkg generate

# The documentation site in target/book, with every link checked
site:
    cargo run --locked --manifest-path site/Cargo.toml --target-dir target/site -- build

# Events and writes in one life of a claim, by one backend
ledger BACKEND="ciOperator":
    cargo run -p testplatform-tests --bin ledger -- --backend {{BACKEND}}

# All that CI runs
ci:
    .ci/run
