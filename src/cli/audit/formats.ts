import type { ListShape } from '../list/shape.ts'

/** An entry of the audit log, as the database holds it. */
export interface Entry {
  id: string
  at: string
  workspaceId: string | null
  tokenId: string | null
  actor: string
  action: string
  targetKind: string
  targetId: string | null
  targetCount: number
  correlationId: string | null
}

const CSV = [
  'id',
  'at',
  'workspaceId',
  'tokenId',
  'actor',
  'action',
  'targetKind',
  'targetId',
  'targetCount',
  'correlationId',
]

export const auditShape: ListShape<Entry> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'at', value: ({ at }) => at, kind: 'time' },
    { name: 'workspaceId', value: ({ workspaceId }) => workspaceId, whole: true },
    { name: 'tokenId', value: ({ tokenId }) => tokenId, whole: true },
    { name: 'actor', value: ({ actor }) => actor },
    { name: 'action', value: ({ action }) => action, whole: true },
    { name: 'targetKind', value: ({ targetKind }) => targetKind },
    { name: 'targetId', value: ({ targetId }) => targetId, whole: true },
    { name: 'targetCount', value: ({ targetCount }) => targetCount },
    { name: 'target', value: ({ targetId, targetCount }) => targetId ?? targetCount, whole: true },
    { name: 'correlationId', value: ({ correlationId }) => correlationId },
  ],
  table: ['at', 'actor', 'action', 'target', 'correlationId'],
  csv: CSV,
}
