#!/usr/bin/env bash
# Builds a release for this machine's architecture twice, compares the bytes, and
# has lintian and rpmlint look at the packages where they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=v$(sed -n 's/^appVersion: "\(.*\)"/\1/p' deploy/helm/quintet/Chart.yaml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for out in one two; do
	VERSION=$version ARCHES=$(${GO:-go} env GOARCH) OUT=$work/$out deploy/release/build.sh > /dev/null
done
cat "$work/one/SHA256SUMS"
cmp "$work/one/SHA256SUMS" "$work/two/SHA256SUMS"
for tool in lintian rpmlint rpm; do
	command -v $tool > /dev/null || echo "release: $tool is not installed: packages are not checked by it" >&2
done
if command -v lintian > /dev/null; then lintian --allow-root --fail-on error "$work"/one/*.deb; fi
if command -v rpmlint > /dev/null && command -v rpm > /dev/null; then rpmlint -c deploy/release/rpmlint.toml "$work"/one/*.rpm; fi
