# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034 # of lab/run
# Part of lab/run: turns --nvme KEY=VALUE,… into a backing file and QEMU's arguments for one controller.
# Reads $disks (folder of the backing files) and $bare, appends to the arrays qemu and controllers, sets $multipath to what
# nvme_core.multipath must be; calls usage_error and die.

# The first of the two root ports' PCI slots; the guest finds a controller by the slot of its port.
nvme_first_slot=16

# A string as JSON.
json_string() {
	local s=${1//\\/\\\\}
	printf '"%s"' "${s//\"/\\\"}"
}

# "64M" → bytes; fails for what is no size.
parse_size() {
	[[ $1 =~ ^([0-9]{1,12})([KMGT]?)$ ]] || return 1
	local factor=1
	case ${BASH_REMATCH[2]} in
	K) factor=$((1 << 10)) ;;
	M) factor=$((1 << 20)) ;;
	G) factor=$((1 << 30)) ;;
	T) factor=$((1 << 40)) ;;
	esac
	echo $((10#${BASH_REMATCH[1]} * factor))
}

in_range() {
	[[ $1 =~ ^[0-9]{1,9}$ ]] && (($1 >= $2 && $1 <= $3))
}

# blkdebug's rules for "2048+8:4096+1" (512-byte sectors): event "none" makes a rule active from the start.
error_rules() {
	local range rules='' first count i
	for range in ${1//:/ }; do
		[[ $range =~ ^([0-9]{1,12})\+([0-9]{1,4})$ ]] ||
			usage_error "--nvme errors=$1: \"$range\" is no range of 512-byte sectors; write FIRST+COUNT, several joined by colons."
		first=$((10#${BASH_REMATCH[1]})) count=$((10#${BASH_REMATCH[2]}))
		for ((i = 0; i < count; i++)); do
			rules+=",{\"event\":\"none\",\"errno\":5,\"immediately\":false,\"once\":false,\"sector\":$((first + i))}"
		done
	done
	echo "${rules#,}"
}

# Adds controller number $1 as described by $2.
nvme_add() {
	local n=$1 spec=$2 key value pair
	local size=1G lba=512 ms=0 mset=0 pi=0 zoned=off mdts=7 count=1 errors=''
	local -a pairs
	IFS=, read -r -a pairs <<<"$spec"
	for pair in "${pairs[@]}"; do
		key=${pair%%=*} value=${pair#*=}
		[[ $pair == *=* ]] || usage_error "--nvme \"$pair\" has no value; write KEY=VALUE,…."
		case $key in
		size | lba | ms | mset | pi | zoned | mdts | count | errors) printf -v "$key" %s "$value" ;;
		*) usage_error "--nvme has no key \"$key\"; it knows size, lba, ms, mset, pi, zoned, mdts, count and errors." ;;
		esac
	done
	local bytes zone_size=''
	bytes=$(parse_size "$size") || usage_error "--nvme size=$size is no size; write a number with K, M, G or T."
	case $lba in 512 | 1024 | 2048 | 4096) ;; *) usage_error "--nvme lba=$lba is no LBA size; write 512, 1024, 2048 or 4096." ;; esac
	in_range "$ms" 0 64 || usage_error "--nvme ms=$ms is no size of metadata per LBA; write 0, 8, 16 or 64."
	in_range "$mset" 0 1 || usage_error "--nvme mset=$mset is neither 0 (metadata apart) nor 1 (extended LBAs)."
	in_range "$pi" 0 3 || usage_error "--nvme pi=$pi is no protection type; write 0 to 3."
	in_range "$mdts" 0 15 || usage_error "--nvme mdts=$mdts is no transfer limit; write 0 (none) to 15, a power of two of 4 KiB pages."
	in_range "$count" 1 32 || usage_error "--nvme count=$count is no number of namespaces; write 1 to 32."
	((pi == 0 || ms >= 8)) || usage_error "--nvme pi=$pi needs metadata to be in; add ms=8."
	((bytes > 0 && bytes % lba == 0)) || usage_error "--nvme size=$size is no multiple of the LBA size $lba."
	case $zoned in
	on | 1) zone_size=$(((bytes < 8 << 27) ? bytes / 8 : 1 << 27)) zoned=on ;;
	off | 0) zoned=off ;;
	*) zone_size=$(parse_size "$zoned") zoned=on ||
		usage_error "--nvme zoned=$zoned is neither on, off nor the size of a zone." ;;
	esac
	if [ $zoned = on ] && ((zone_size == 0 || zone_size & (zone_size - 1) || bytes % zone_size)); then
		usage_error "--nvme size=$size cannot be cut in zones of $zone_size bytes; choose a power of two that divides it."
	fi
	local rules=''
	[ -z "$errors" ] || rules=$(error_rules "$errors") || exit 2

	local slot address serial=lab$n
	slot=$((nvme_first_slot + n))
	address=$(printf %02x $slot)
	qemu+=(-device "pcie-root-port,id=port$n,bus=pcie.0,addr=0x$address,chassis=$((n + 1)),slot=$((n + 1))")
	# Several namespaces start detached, for the guest to attach them one after another: 6.12 scans them all at once and numbers
	# them as they answer. That takes a subsystem, with which they would be multipath devices, unlike a single one.
	local subsystem='' detached=''
	if ((count > 1)) && [ -z "$bare" ]; then
		multipath=N
		qemu+=(-device "nvme-subsys,id=subsystem$n")
		subsystem=,subsys=subsystem$n detached=,shared=off,detached=on
	fi
	qemu+=(-device "nvme,id=nvme$n,bus=port$n,serial=$serial,mdts=$mdts$subsystem")
	controllers+=("$address:$serial:$count")

	local i file image node options
	for ((i = 1; i <= count; i++)); do
		file=$disks/nvme${n}n$i node=nvme${n}n$i
		# QEMU keeps the metadata behind the data in the same file.
		truncate -s $(((bytes + bytes * ms / lba + 511) / 512 * 512)) "$file" ||
			die "the backing file $file of $size bytes could not be made; have room in the folder, or set TMPDIR."
		image="{\"driver\":\"file\",\"discard\":\"unmap\",\"filename\":$(json_string "$file")}"
		[ -z "$rules" ] || image="{\"driver\":\"blkdebug\",\"discard\":\"unmap\",\"image\":$image,\"inject-error\":[$rules]}"
		options="drive=$node,bus=nvme$n,nsid=$i,logical_block_size=$lba,physical_block_size=$lba,ms=$ms,mset=$mset,pi=$pi$detached"
		[ $zoned = off ] || options+=",zoned=on,zoned.zone_size=$zone_size"
		qemu+=(-blockdev "{\"driver\":\"raw\",\"node-name\":\"$node\",\"discard\":\"unmap\",\"file\":$image}"
			-device "nvme-ns,$options")
	done
}
