# SPDX-License-Identifier: GPL-2.0
"""Defects of drivers, a row each: what krping is to notice."""

from typing import NamedTuple


class Defect(NamedTuple):
	"""A defect, as a change of one place of a driver."""
	name: str
	# The module, and the file of its source.
	driver: str
	file: str
	# A regular expression, as short as it can be, that is found once in the file; a blank in it is any
	# white space. And what is there instead.
	at: str
	instead: str
	# Of KINDS.
	kind: str
	# When Linux mended it, or "" for one that is made up.
	mended: str
	# What a good tester names: parts of names of cases, as a regular expression.
	says: str


# Who can see a defect.
KINDS = {"K": "a consumer in the kernel", "P": "a raw packet", "L": "life of objects",
	 "U": "a hostile peer", "N": "nobody"}

RXE = "rdma_rxe"
SIW = "siw"
# Drivers, and the folders of their sources.
FOLDERS = {RXE: "drivers/infiniband/sw/rxe", SIW: "drivers/infiniband/sw/siw"}

TABLE = (
	# Those that Linux had.
	Defect("iova_wraps", RXE, "rxe_mr.c",
	       r"iova - mr->ibmr\.iova > mr->ibmr\.length - length",
	       "iova + length > mr->ibmr.iova + mr->ibmr.length", "K", "2026-05", "range|length|wrap"),
	Defect("executed_again", RXE, "rxe_resp.c",
	       r"pkt \? RESPST_CLEANUP : RESPST_CHK_RESOURCE",
	       "RESPST_CHK_RESOURCE", "K", "2026-07", "once|race|twice"),
	Defect("flush_is_unsolicited", RXE, "rxe_resp.c",
	       r"pkt \? bth_se\(pkt\) : 1",
	       "pkt ? bth_se(pkt) : 0", "K", "2026 (7.2)", "solicited"),
	Defect("no_access_event", RXE, "rxe_resp.c",
	       r"return RESPST_ERR_RKEY_VIOLATION_EVENT",
	       "return RESPST_ERR_RKEY_VIOLATION", "K", "2026 (7.1)", "event|access"),
	Defect("no_last_wqe_event", RXE, "rxe_resp.c",
	       r"if \(notify && qp->ibqp\.event_handler\)",
	       "if (0)", "K", "after 6.1", "srq_drain"),

	# Keys, rights and ranges.
	Defect("pd_ignored", RXE, "rxe_mr.c",
	       r"mr_pd\(mr\) != pd \|\| \(\(access",
	       "((access", "K", "", "wrong_pd"),
	Defect("rights_ignored", RXE, "rxe_mr.c",
	       r"\(\(access & mr->access\) != access\) \|\|",
	       "", "K", "", "write_only|read_only|right"),
	Defect("rkey_of_another_is_taken", RXE, "rxe_mr.c",
	       r"type == RXE_LOOKUP_REMOTE && mr->rkey != key",
	       "0", "K", "", "rkey|key"),
	Defect("lkey_of_another_is_taken", RXE, "rxe_mr.c",
	       r"type == RXE_LOOKUP_LOCAL && mr->lkey != key",
	       "0", "K", "", "lkey|key"),
	Defect("range_has_a_byte_more", RXE, "rxe_mr.c",
	       r"length > mr->ibmr\.length \|\|",
	       "length > mr->ibmr.length + 1 || length <= mr->ibmr.length &&", "K", "", "length|range"),
	Defect("front_of_range_ignored", RXE, "rxe_mr.c",
	       r"iova < mr->ibmr\.iova \|\|",
	       "", "K", "", "range|front"),
	Defect("invalidated_by_index", RXE, "rxe_mr.c",
	       r"remote \? \(key != mr->rkey\) : \(key != mr->lkey\)",
	       "0", "K", "", "inv"),
	Defect("invalidation_does_nothing", RXE, "rxe_mr.c",
	       r"mr->state = RXE_MR_STATE_FREE; ret = 0",
	       "ret = 0", "K", "", "inv|stale|fast|reg"),
	Defect("registered_while_valid", RXE, "rxe_mr.c",
	       r"mr->state != RXE_MR_STATE_FREE",
	       "0", "K", "", "reg_mr_on_valid"),
	Defect("registered_for_another_pd", RXE, "rxe_mr.c",
	       r"qp->ibqp\.pd != mr->ibmr\.pd",
	       "0", "K", "", "pd"),
	Defect("remote_read_right_of_queue_pair_ignored", RXE, "rxe_resp.c",
	       r"!\(qp->attr\.qp_access_flags & IB_ACCESS_REMOTE_READ\)",
	       "0", "K", "", "right|access"),
	Defect("last_byte_lost", RXE, "rxe_mr.c",
	       r"return rxe_mr_copy_xarray\(mr, iova, addr, length, dir\)",
	       "return rxe_mr_copy_xarray(mr, iova, addr, length > 600 ? length - 1 : length, dir)",
	       "K", "", "validat|data|WRITE|READ|SEND"),

	# The requester.
	Defect("fence_ignored", RXE, "rxe_req.c",
	       r"\(wqe->wr\.send_flags & IB_SEND_FENCE\) &&",
	       "0 &&", "K", "", "fence"),
	Defect("depth_of_reads_ignored", RXE, "rxe_req.c",
	       r"if \(depth >= 0\)",
	       "if (depth >= -1000)", "K", "", "depth"),
	Defect("rnr_retried_for_ever", RXE, "rxe_comp.c",
	       r"if \(qp->comp\.rnr_retry > 0\)",
	       "if (1)", "K", "", "rnr|srq_empty"),
	Defect("retried_for_ever", RXE, "rxe_comp.c",
	       r"if \(qp->comp\.retry_cnt > 0\)",
	       "if (1)", "K", "", "retry"),
	Defect("unsignaled_failure_is_silent", RXE, "rxe_comp.c",
	       r"\|\| wqe->status != IB_WC_SUCCESS\)",
	       ")", "K", "", "unsignaled"),
	Defect("bad_lkey_of_read_is_success", RXE, "rxe_comp.c",
	       r"if \(ret\) \{ wqe->status = IB_WC_LOC_PROT_ERR; return COMPST_ERROR; \} if "
	       r"\(wqe->dma\.resid",
	       "if (wqe->dma.resid", "K", "", "lkey|read"),
	Defect("bad_lkey_of_atomic_is_success", RXE, "rxe_comp.c",
	       r"if \(ret\) \{ wqe->status = IB_WC_LOC_PROT_ERR; return COMPST_ERROR; \} return "
	       r"COMPST_COMP_ACK",
	       "return COMPST_COMP_ACK", "K", "", "lkey|atomic"),
	Defect("flush_is_success", RXE, "rxe_comp.c",
	       r"uwc->status = IB_WC_WR_FLUSH_ERR; uwc->qp_num = qp->ibqp\.qp_num; \} else \{ "
	       r"wc->wr_id = wqe->wr\.wr_id; wc->status = IB_WC_WR_FLUSH_ERR",
	       "uwc->status = IB_WC_WR_FLUSH_ERR; } else { wc->wr_id = wqe->wr.wr_id; wc->status = "
	       "IB_WC_SUCCESS", "K", "", "flush|stale|key"),
	Defect("access_error_is_another", RXE, "rxe_comp.c",
	       r"wqe->status = IB_WC_REM_ACCESS_ERR",
	       "wqe->status = IB_WC_REM_OP_ERR", "K", "", "key|access|pd|length|right"),
	Defect("sends_are_not_flushed", RXE, "rxe_comp.c",
	       r"while \(\(wqe = queue_head\(q, q->type\)\)\) \{ if \(notify\)",
	       "while ((wqe = queue_head(q, q->type))) { if (0)", "K", "", "flush|drain"),

	# The responder.
	Defect("receives_are_not_flushed", RXE, "rxe_resp.c",
	       r"while \(\(wqe = queue_head\(q, q->type\)\)\) \{ if \(notify\)",
	       "while ((wqe = queue_head(q, q->type))) { if (0)", "K", "", "flush|drain"),
	Defect("srq_limit_stays", RXE, "rxe_resp.c",
	       r"srq->limit = 0;",
	       ";", "K", "", "srq_limit"),
	Defect("srq_limit_is_not_told", RXE, "rxe_resp.c",
	       r"srq->ibsrq\.event_handler\(&ev, srq->ibsrq\.srq_context\);",
	       "", "K", "", "srq_limit"),
	Defect("short_write_is_taken", RXE, "rxe_resp.c",
	       r"if \(pktlen != resid\)",
	       "if (0)", "P", "", "."),
	Defect("long_datagram_is_taken", RXE, "rxe_resp.c",
	       r"if \(payload \+ sizeof\(union rdma_network_hdr\) > recv_buffer_len\)",
	       "if (0)", "K", "2024-06", "ud|datagram"),
	Defect("invalidation_of_a_bad_key_is_success", RXE, "rxe_resp.c",
	       r"if \(err\) return RESPST_ERR_INVALIDATE_RKEY",
	       "if (0) return RESPST_ERR_INVALIDATE_RKEY", "K", "", "send_inv"),
	Defect("no_byte_count", RXE, "rxe_resp.c",
	       r"wqe->dma\.length - wqe->dma\.resid",
	       "wqe->dma.length", "K", "", "length|size|message"),
	Defect("invalidated_key_is_not_told", RXE, "rxe_resp.c",
	       r"(?<!u)wc->ex\.invalidate_rkey = ieth_rkey\(pkt\);",
	       "", "K", "", "inv"),
	Defect("atomic_may_be_unaligned", RXE, "rxe_mr.c",
	       r"rxe_dbg_mr\(mr, \"iova not aligned\\n\"\); return RESPST_ERR_MISALIGNED_ATOMIC; \} "
	       r"va = kmap",
	       "} va = kmap", "K", "", "atomic"),
	Defect("q_key_ignored", RXE, "rxe_recv.c",
	       r"deth_qkey\(pkt\) != qkey",
	       "0", "K", "", "qkey"),

	# Completion queues.
	Defect("unsolicited_raises_an_event", RXE, "rxe_cq.c",
	       r"cq->notify & IB_CQ_SOLICITED && solicited",
	       "cq->notify & IB_CQ_SOLICITED", "K", "", "solicited"),
	Defect("no_event_of_next", RXE, "rxe_cq.c",
	       r"\(cq->notify & IB_CQ_NEXT_COMP\) \|\|",
	       "", "K", "", "rearm|event|time|wait"),
	Defect("overrun_is_silent", RXE, "rxe_cq.c",
	       r"if \(cq->ibcq\.event_handler\)",
	       "if (0)", "K", "", "cq_overrun"),

	# Soft-iWARP.
	Defect("siw_pd_ignored", SIW, "siw_mem.c",
	       r"if \(mem->pd != pd\)",
	       "if (0)", "K", "", "wrong_pd"),
	Defect("siw_rights_ignored", SIW, "siw_mem.c",
	       r"if \(\(mem->perms & perms\) < perms\)",
	       "if (0)", "K", "", "write_only|read_only|right"),
	Defect("siw_end_of_range_ignored", SIW, "siw_mem.c",
	       r"\|\| addr \+ len > mem->va \+ mem->len",
	       "", "K", "", "length|range"),
	Defect("siw_front_of_range_ignored", SIW, "siw_mem.c",
	       r"addr < mem->va \|\|",
	       "", "K", "", "range|front"),
	Defect("siw_invalid_key_is_taken", SIW, "siw_mem.c",
	       r"if \(!mem->stag_valid\)",
	       "if (0)", "K", "", "invalidated|stale"),
	Defect("siw_invalidation_does_nothing", SIW, "siw_mem.c",
	       r"mem->stag_valid = 0; siw_dbg_pd",
	       "siw_dbg_pd", "K", "", "inv|stale|fast|reg"),
	Defect("siw_rkey_of_another_is_taken", SIW, "siw_qp_rx.c",
	       r"if \(unlikely\(mem->stag != srx->ddp_stag\)\)",
	       "if (0)", "K", "", "rkey|key"),
	Defect("siw_lkey_of_another_is_taken", SIW, "siw_mem.c",
	       r"\(\*mem\)->stag != sge->lkey",
	       "0", "K", "", "lkey|key"),
	Defect("siw_short_receive_is_taken", SIW, "siw_qp_rx.c",
	       r"wqe->bytes < wqe->processed \+ srx->fpdu_part_rem",
	       "0", "K", "", "too_long"),
	Defect("siw_srq_limit_is_not_told", SIW, "siw_qp_rx.c",
	       r"srq->armed = false; srq_event = true",
	       "srq->armed = false", "K", "", "srq_limit"),
	Defect("siw_no_event_of_next", SIW, "siw_qp.c",
	       r"\(cq_notify & SIW_NOTIFY_NEXT_COMPLETION\) \|\|",
	       "", "K", "", "rearm|event|time|wait"),
	Defect("siw_sends_are_not_flushed", SIW, "siw_qp.c",
	       r"async_event = 1; if \(siw_sqe_complete\(qp, sqe, 0, SIW_WC_WR_FLUSH_ERR\) != 0\)",
	       "async_event = 1; if (0)", "K", "", "flush|drain"),
	Defect("siw_receives_are_not_flushed", SIW, "siw_qp.c",
	       r"if \(siw_rqe_complete\(qp, rqe, 0, 0, SIW_WC_WR_FLUSH_ERR\) != 0\)",
	       "if (0)", "K", "", "flush|drain"),
	Defect("siw_invalidated_key_is_not_told", SIW, "siw_qp.c",
	       r"cqe_flags \|= SIW_WQE_REM_INVAL;",
	       ";", "K", "", "inv"),
	Defect("siw_fence_ignored", SIW, "siw_qp.c",
	       r"if \(wqe->sqe\.flags & SIW_WQE_READ_FENCE\)",
	       "if (0)", "K", "", "fence"),
)
