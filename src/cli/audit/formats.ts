import { type CsvColumn, csvFormat, type PageFormat } from '../arguments/list.ts'
import { type Column, tableWriter } from '../command/output.ts'

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

const tableColumns: Column<Entry>[] = [
  { title: 'at', value: (entry) => entry.at, whole: true },
  { title: 'actor', value: (entry) => entry.actor },
  { title: 'action', value: (entry) => entry.action, whole: true },
  { title: 'target', value: ({ targetId, targetCount }) => targetId ?? String(targetCount), whole: true },
  { title: 'correlation id', value: (entry) => entry.correlationId },
]

export function auditTable(width: number | undefined): PageFormat<Entry> {
  const write = tableWriter(tableColumns, { width })
  return (entries) => `${write(entries)}\n`
}

const csvNames = [
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
] as const satisfies (keyof Entry)[]
const csvColumns: CsvColumn<Entry>[] = csvNames.map((name) => [name, (entry) => entry[name]])

export function auditCsv(options: { rawCells: boolean }): PageFormat<Entry> {
  return csvFormat(csvColumns, { header: true, ...options })
}
