#!/usr/bin/env bash
# Builds a release into dist/: tarballs, deb, rpm, a container image, the Helm
# chart, an SBOM and the license texts of the dependencies of each binary, and checksums. The same source, version, Go
# toolchain and root certificates give the same bytes.
#
#   make release VERSION=v0.10.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=${VERSION:?VERSION is required, such as v0.10.0}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.-]+)?$ ]] || { echo "release: VERSION=$version: want vX.Y.Z" >&2; exit 1; }
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
commit=$(git rev-parse HEAD)
go=${GO:-go}
nfpm=${NFPM:-bin/peers/nfpm}
certificates=${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
out=${OUT:-dist}
cli=github.com/quintet-dc/quintet/cmd/cli
flags=(-trimpath -buildvcs=false -ldflags "-s -w -buildid= -X $cli.stamped=$version -X $cli.commit=$commit")
programs="quintet quintet-collect quintet-lab"

# compile OUT PROGRAM: quintet is cmd/quintet without the workbench, quintet-lab with it.
compile() {
	local tags=grpcnotrace package=$2
	case $2 in
		quintet) tags+=,service ;;
		quintet-lab) package=quintet ;;
	esac
	$go build "${flags[@]}" -tags "$tags" -o "$1" "./cmd/$package"
}

rm -rf "$out" && mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pack ARCHIVE FOLDER PARENT: the folder in its parent, with nothing of this machine in it.
pack() {
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX --dereference \
		--exclude='*.go' --exclude='*_test.yml' -C "$3" -cf - "$2" | gzip -9n > "$1"
}

# The manuals and the completions come from the programs themselves.
$go build -trimpath -buildvcs=false -o "$work/" ./deploy/sbom ./deploy/image
mkdir -p "$work/share"
for program in quintet quintet-collect; do
	compile "$work/host" "${program/%quintet/quintet-lab}" # its manual has all commands
	"$work/host" man | gzip -9n > "$work/share/$program.1.gz"
	for shell in bash zsh fish; do "$work/host" completion $shell > "$work/share/$program.$shell"; done
	sed 's#/usr/local/bin/#/usr/bin/#' deploy/systemd/$program.service > "$work/share/$program.service"
done

cat > "$work/changes.yaml" <<-CHANGES
	- semver: ${version#v}
	  date: $(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
	  packager: The Quintet authors <maintainers@quintet.example>
	  changes: [{note: "See CHANGELOG.md of this version."}]
CHANGES

for config in deploy/release/nfpm*.yaml; do # nfpm expands no variable there
	sed "s#^changelog:.*#changelog: $work/changes.yaml#" "$config" > "$work/$(basename "$config")"
done

images=()
for arch in ${ARCHES:-amd64 arm64}; do
	name=quintet-${version#v}-linux-$arch
	tree=$work/$name
	mkdir -p "$tree"
	for program in $programs; do CGO_ENABLED=0 GOOS=linux GOARCH=$arch compile "$tree/$program" "$program"; done
	cp LICENSE README.md CHANGELOG.md deploy/quintet.yaml "$work"/share/* "$tree/"
	"$work/sbom" licenses "$tree/quintet-lab" "$($go env GOMODCACHE)" "$($go env GOROOT)" > "$tree/LICENSES-of-dependencies.txt"
	cp "$tree/LICENSES-of-dependencies.txt" "$out/$name.licenses.txt" # of the image, too
	pack "$out/$name.tar.gz" "$name" "$work"
	for program in $programs; do
		"$work/sbom" "$tree/$program" "$version" > "$out/$program-${version#v}-linux-$arch.cdx.json"
	done
	images+=("$arch=$tree/quintet")
	if [ -x "$nfpm" ]; then
		for kind in deb rpm; do
			for config in "$work"/nfpm*.yaml; do
				TREE=$tree ARCH=$arch RELEASE=${version#v} "$nfpm" package --config "$config" --packager $kind --target "$out/" >&2
			done
		done
	else
		echo "release: no deb and rpm: $nfpm is not built (make release-tools)" >&2
	fi
done
"$work/image" "$out/quintet-${version#v}-image.tar" "$version" "$SOURCE_DATE_EPOCH" "$certificates" "${images[@]}"
pack "$out/quintet-chart-$(sed -n 's/^version: //p' deploy/helm/quintet/Chart.yaml).tgz" quintet deploy/helm
(cd "$out" && sha256sum -- * > SHA256SUMS)
ls -l "$out"
