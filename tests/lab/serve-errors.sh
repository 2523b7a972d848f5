# SPDX-License-Identifier: MIT
# lab: --kernel 6.12
# Bad input and a host that lacks something: one sentence with object, reason and remedy, the right
# exit status, within two seconds, nothing left behind.
. tests/lab/lib.sh

clean=$(leftovers)

# refuse NAME STATUS PATTERN COMMAND...: every word of PATTERN (split at |) must be in the sentence
refuse() {
	local name=$1 wanted=$2 pattern=$3 status word began
	shift 3
	# A machine that is busy with something else gets a second and a third chance to be quick.
	for _ in 1 2 3; do
		began=$(date +%s%N)
		timeout 10 "$@" >"$work/stdout" 2>"$work/stderr"
		status=$?
		took=$((($(date +%s%N) - began) / 1000000))
		[ $took -gt 2000 ] || break
	done
	if [ $status -ne "$wanted" ]; then
		not_ok "$name" "exit status $status, not $wanted: $(cat "$work/stderr")"
		return
	fi
	if [ "$(grep -c '^penstock: ' "$work/stderr")" -ne 1 ] || [ "$(wc -l <"$work/stderr")" -ne 1 ]; then
		not_ok "$name" "not one sentence: $(cat "$work/stderr")"
		return
	fi
	while [ -n "$pattern" ]; do
		word=${pattern%%|*}
		if ! grep -qF -- "$word" "$work/stderr"; then
			not_ok "$name" "no word of '$word': $(cat "$work/stderr")"
			return
		fi
		[ "$word" = "$pattern" ] && break
		pattern=${pattern#*|}
	done
	if [ -s "$work/stdout" ]; then
		not_ok "$name" "something on stdout: $(cat "$work/stdout")"
	elif [ $took -gt 2000 ]; then
		not_ok "$name" "took $took ms"
	elif [ "$(leftovers)" != "$clean" ]; then
		not_ok "$name" "left behind: $(leftovers)"
	else
		ok "$name"
	fi
}

refuse_export() {
	local name=$1 status=$2 pattern=$3 spec=$4
	shift 4
	refuse "$name" "$status" "$pattern" "$@" penstock serve --export "$spec"
}

good=name=disk0,source=nvme:/dev/ng0n1

# What the arguments alone decide.
refuse_export "no name" 2 "name" source=nvme:/dev/ng0n1
refuse_export "no source" 2 "disk0|source" name=disk0
refuse_export "bad characters in a name" 2 "a/b" name=a/b,source=nvme:/dev/ng0n1
refuse_export "a name of 65 characters" 2 "64" "name=$(printf 'x%.0s' $(seq 65)),source=nvme:/dev/ng0n1"
refuse_export "queue size not a power of two" 2 "queue-size|100|power of two" $good,queue-size=100
refuse_export "queue size above 1024" 2 "queue-size|2048|1024" $good,queue-size=2048
refuse_export "zero queues" 2 "queues|0" $good,queues=0
refuse_export "unknown key" 2 "qeues|queues" $good,qeues=2
refuse_export "a key twice" 2 "queues" $good,queues=2,queues=4
refuse_export "not a number" 2 "queues|two" $good,queues=two
refuse_export "unknown source" 2 "floppy" name=disk0,source=floppy:/dev/fd0
refuse_export "unknown transport" 2 "transport|carrier-pigeon" $good,transport=carrier-pigeon
refuse_export "bounce region too small" 2 "bounce|4096" $good,bounce=4096
refuse_export "fixed without umem" 2 "fixed|umem" $good,umem=off,fixed=on
refuse_export "serial too long" 2 "serial|20" $good,serial=123456789012345678901
refuse "no export" 2 "export" penstock serve
refuse "one name twice" 2 "disk0" penstock serve --export $good --export name=disk0,source=null:1M
refuse "unknown option" 2 "bogus" penstock serve --bogus
refuse "unknown verb" 2 "frobnicate" penstock frobnicate

# What the machine decides.
refuse_export "no such node" 1 "/dev/ng9n9|does not exist" name=disk0,source=nvme:/dev/ng9n9
refuse_export "a block node" 1 "/dev/nvme0n1|block node|/dev/ng0n1" name=disk0,source=nvme:/dev/nvme0n1
printf 'start=2048,size=65536\n' | sfdisk -q /dev/nvme0n1 >/dev/null 2>&1
wait_for 5 test -b /dev/nvme0n1p1
refuse_export "a partition" 1 "/dev/nvme0n1p1|partition|/dev/ng0n1" name=disk0,source=nvme:/dev/nvme0n1p1
refuse_export "a controller" 1 "/dev/nvme0|/dev/ng0n1" name=disk0,source=nvme:/dev/nvme0
refuse_export "no NVMe at all" 1 "/dev/null" name=disk0,source=nvme:/dev/null
refuse_export "no permission" 1 "/dev/ng0n1|permission" $good setpriv --reuid=65534 --clear-groups
refuse_export "no poll queues" 1 "/dev/ng0n1|poll queues|poll_queues=1" $good,nvme-poll=on
refuse_export "packed with a small bounce region" 1 "disk0|bounce" $good,packed=on,bounce=1M
refuse_export "slice not aligned" 1 "offset|4096" name=disk0,source=nvme:/dev/ng1n1,offset=512,size=1M
refuse_export "slice past the end" 1 "end|/dev/ng0n1" $good,offset=1023M,size=2M
echo 8 >/proc/sys/vm/nr_hugepages
kept=$clean
clean=$(leftovers)
refuse_export "no hugepages" 1 "hugepages|nr_hugepages" $good,umem=on
clean=$kept
echo 512 >/proc/sys/vm/nr_hugepages
mkfs.ext4 -q /dev/nvme1n1 && mkdir -p "$work/mnt" && mount /dev/nvme1n1 "$work/mnt"
refuse_export "mounted" 1 "/dev/ng1n1|mounted|force" name=disk0,source=nvme:/dev/ng1n1
umount "$work/mnt"
mkfs.ext4 -q /dev/nvme0n1p1 && mount /dev/nvme0n1p1 "$work/mnt"
refuse_export "a mounted partition" 1 "/dev/ng0n1|mounted|force" $good
if serve name=disk7,source=nvme:/dev/ng0n1,force,read-only; then
	ok "mounted, with force"
	stop
else
	not_ok "mounted, with force" "not served"
fi
umount "$work/mnt"
sfdisk -q --delete /dev/nvme0n1

serve name=disk0,source=null:64M && first=$pid
kept=$clean
clean=$(leftovers)
refuse "a name in use" 1 "disk0|exists" penstock serve --control "$work/other" --export $good
clean=$kept
pid=$first
stop

sysctl -qw kernel.io_uring_disabled=2
refuse_export "io_uring switched off" 1 "io_uring|kernel.io_uring_disabled" $good
sysctl -qw kernel.io_uring_disabled=0

modprobe -r virtio_vdpa
refuse_export "no virtio_vdpa" 1 "virtio_vdpa|modprobe" $good
modprobe virtio_vdpa
modprobe -r vduse
refuse_export "no vduse" 1 "vduse|modprobe" $good
modprobe vduse

if serve $good; then
	check "after all that it serves" "fio is not content" verify 4k 1m
	stop
fi
equal "nothing left behind" "$kept" "$(leftovers)"
