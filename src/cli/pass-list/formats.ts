import type { Pass } from '../../core/contract/passes.ts'
import { formatRows } from '../bulk/dialect.ts'
import { type Column, tableWriter } from '../output.ts'

/** How a page of passes is written; called for one page after another. */
export type PageFormat = (passes: readonly Pass[]) => string

const tableColumns: Column<Pass>[] = [
  { title: 'id', value: (pass) => pass.id, whole: true },
  { title: 'external id', value: (pass) => pass.externalPassId },
  { title: 'label', value: (pass) => pass.label },
  { title: 'status', value: (pass) => pass.status, whole: true },
  { title: 'expires', value: ({ expiresAt }) => (expiresAt ? expiresAt.slice(0, 16).replace('T', ' ') : 'never') },
]

export function tableFormat(width: number | undefined): PageFormat {
  const write = tableWriter(tableColumns, { width })
  return (passes) => `${write(passes)}\n`
}

/** NDJSON: one pass a line. */
export const jsonLines: PageFormat = (passes) => passes.map((pass) => `${JSON.stringify(pass)}\n`).join('')

const csvColumns: [title: string, value: (pass: Pass) => string | number | null][] = [
  ['id', (pass) => pass.id],
  ['externalPassId', (pass) => pass.externalPassId],
  ['label', (pass) => pass.label],
  ['status', (pass) => pass.status],
  ['revision', (pass) => pass.revision],
  ['templateId', (pass) => pass.templateId],
  ['templateVersion', (pass) => pass.templateVersion],
  ['latestTemplateVersion', (pass) => pass.latestTemplateVersion],
  ['projectId', (pass) => pass.projectId],
  ['expiresAt', (pass) => pass.expiresAt],
  ['createdAt', (pass) => pass.createdAt],
  ['updatedAt', (pass) => pass.updatedAt],
  ['appleLink', (pass) => pass.hostedLinks.apple],
  ['googleLink', (pass) => pass.hostedLinks.google],
  ['smartLink', (pass) => pass.hostedLinks.smart],
  // One cell of JSON: which variables later pages hold cannot be known when the header is written.
  ['variables', (pass) => JSON.stringify(pass.variables)],
]

/** CSV with a header line, quoted where it must be. */
export function csvFormat(): PageFormat {
  let header = [csvColumns.map(([title]) => title)]
  return (passes) => {
    const rows = passes.map((pass) => csvColumns.map(([, value]) => value(pass)?.toString() ?? null))
    const text = formatRows([...header, ...rows], { delimiter: ',', newline: '\n', bom: false })
    header = []
    return text
  }
}
