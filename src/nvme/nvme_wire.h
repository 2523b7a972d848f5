/* SPDX-License-Identifier: MIT */
/*
 * What lies on the wire, little endian: the parts of the Identify data that are used here.
 * NVMe Base 2.0c, figures 275 (controller) and 280; NVM Command Set 1.0c, figure 97 (namespace) and
 * figure 100 (NVM command set specific namespace).
 */
#ifndef PST_NVME_WIRE_H
#define PST_NVME_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Fields that must be read with le16toh and friends. */
typedef uint16_t pst_le16;
typedef uint32_t pst_le32;
typedef uint64_t pst_le64;

#define PST_NVME_IDENTIFY_SIZE 4096
#define PST_NVME_CNS_NS 0x00
#define PST_NVME_CNS_CTRL 0x01
#define PST_NVME_CNS_CSI_NS 0x05
#define PST_NVME_CNS_CSI_CTRL 0x06

struct pst_nvme_id_ctrl {
	pst_le16 vid;
	pst_le16 ssvid;
	char sn[20];
	char mn[40];
	char fr[8];
	uint8_t rab;
	uint8_t ieee[3];
	uint8_t cmic;
	uint8_t mdts;
	uint8_t rsvd78[434];
	uint8_t sqes;
	uint8_t cqes;
	pst_le16 maxcmd;
	pst_le32 nn;
	pst_le16 oncs;
	pst_le16 fuses;
	uint8_t fna;
	uint8_t vwc;
	pst_le16 awun;
	pst_le16 awupf;
	uint8_t rsvd530[3566];
};
static_assert(offsetof(struct pst_nvme_id_ctrl, mdts) == 77, "Identify Controller: MDTS");
static_assert(offsetof(struct pst_nvme_id_ctrl, oncs) == 520, "Identify Controller: ONCS");
static_assert(offsetof(struct pst_nvme_id_ctrl, vwc) == 525, "Identify Controller: VWC");
static_assert(sizeof(struct pst_nvme_id_ctrl) == PST_NVME_IDENTIFY_SIZE, "Identify Controller");

#define PST_NVME_ONCS_DSM (1U << 2)
#define PST_NVME_ONCS_WRITE_ZEROES (1U << 3)
#define PST_NVME_VWC_PRESENT (1U << 0)

struct pst_nvme_lbaf {
	pst_le16 ms;
	uint8_t lbads;
	uint8_t rp;
};

struct pst_nvme_id_ns {
	pst_le64 nsze;
	pst_le64 ncap;
	pst_le64 nuse;
	uint8_t nsfeat;
	uint8_t nlbaf;
	uint8_t flbas;
	uint8_t mc;
	uint8_t dpc;
	uint8_t dps;
	uint8_t nmic;
	uint8_t rescap;
	uint8_t fpi;
	uint8_t dlfeat;
	pst_le16 nawun;
	pst_le16 nawupf;
	pst_le16 nacwu;
	pst_le16 nabsn;
	pst_le16 nabo;
	pst_le16 nabspf;
	pst_le16 noiob;
	uint8_t nvmcap[16];
	pst_le16 npwg;
	pst_le16 npwa;
	pst_le16 npdg;
	pst_le16 npda;
	pst_le16 nows;
	uint8_t rsvd74[54];
	struct pst_nvme_lbaf lbaf[64];
	uint8_t rsvd384[3712];
};
static_assert(offsetof(struct pst_nvme_id_ns, dps) == 29, "Identify Namespace: DPS");
static_assert(offsetof(struct pst_nvme_id_ns, npwg) == 64, "Identify Namespace: NPWG");
static_assert(offsetof(struct pst_nvme_id_ns, lbaf) == 128, "Identify Namespace: LBAF");
static_assert(sizeof(struct pst_nvme_id_ns) == PST_NVME_IDENTIFY_SIZE, "Identify Namespace");

#define PST_NVME_NSFEAT_NSABP (1U << 1)	  /* NAWUN, NAWUPF hold for this namespace */
#define PST_NVME_NSFEAT_OPTPERF (1U << 4) /* NPWG and NOWS are given */
#define PST_NVME_FLBAS_EXTENDED (1U << 4)
#define PST_NVME_DPS_TYPE 0x07U
#define PST_NVME_DPS_FIRST (1U << 3)

#endif
