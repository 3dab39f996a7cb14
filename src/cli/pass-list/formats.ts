import type { Pass } from '../../core/contract/passes.ts'
import { type CsvColumn, csvFormat, type PageFormat } from '../arguments/list.ts'
import { type Column, tableWriter } from '../command/output.ts'

const tableColumns: Column<Pass>[] = [
  { title: 'id', value: (pass) => pass.id, whole: true },
  { title: 'external id', value: (pass) => pass.externalPassId },
  { title: 'label', value: (pass) => pass.label },
  { title: 'status', value: (pass) => pass.status, whole: true },
  { title: 'expires', value: ({ expiresAt }) => (expiresAt ? expiresAt.slice(0, 16).replace('T', ' ') : 'never') },
]

export function tableFormat(width: number | undefined): PageFormat<Pass> {
  const write = tableWriter(tableColumns, { width })
  return (passes) => `${write(passes)}\n`
}

const csvColumns: CsvColumn<Pass>[] = [
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

export function passesCsv(options: { rawCells: boolean }): PageFormat<Pass> {
  return csvFormat(csvColumns, { header: true, ...options })
}
