import { foldWindow } from '../../../core/contract/list.ts'
import { type scans as contract, scannedWindow } from '../../../core/contract/scans.ts'
import { ApiError } from '../../../core/errors.ts'
import { type ScanFigures, sumFigures } from '../../../storage/scans/scan-stats.ts'
import type { Handlers } from '../../http/mount.ts'
import { toPage } from '../page.ts'
import { explainPass } from '../passes/explain-pass.ts'
import { recordScan } from './record-scan.ts'
import { reverseScan } from './reverse-scan.ts'
import { toScanItem } from './scan-shapes.ts'

export const scans: Handlers<typeof contract> = {
  create: async ({ body }, context) => ({ status: 200, body: await recordScan(body, context) }),

  list: async ({ query }, { store, workspaceId }) => {
    const request = foldWindow(query, scannedWindow, 'scanned')
    const page = toPage(await store.scans.list(workspaceId, request))
    return { status: 200, body: { ...page, items: page.items.map(toScanItem) } }
  },

  stats: async ({ query }, { store, workspaceId }) => {
    const figures = await store.scans.counts(workspaceId, foldWindow(query, scannedWindow, 'scanned'))
    if (query.groupBy === undefined) return { status: 200, body: toStats(sumFigures(figures.values())) }
    const items = [...figures].map(([projectId, part]) => ({ projectId, ...toStats(part) }))
    return { status: 200, body: { items } }
  },

  get: async ({ params }, { store, workspaceId }) => {
    const scan = await store.scans.find(workspaceId, params.id)
    if (!scan) throw new ApiError('NOT_FOUND', { message: 'There is no such scan.', details: { scanId: params.id } })
    return { status: 200, body: toScanItem(scan) }
  },

  reverse: async ({ params, body }, context) => ({ status: 200, body: await reverseScan(params.id, body, context) }),

  explain: async ({ params, query }, context) => ({ status: 200, body: await explainPass(params.id, query, context) }),
}

function toStats({ totalPasses, redeemed, totalScans, totalDenied, lastScanAt }: ScanFigures) {
  return {
    totalPasses,
    redeemed,
    open: Math.max(0, totalPasses - redeemed),
    totalScans,
    totalDenied,
    lastScanAt: lastScanAt?.toISOString() ?? null,
  }
}
