import type { Knex } from 'knex'
import { asJson } from '../db/values.ts'
import { hourOf } from './counters.ts'

/** Rows that count as a figure when they are written, or when a column of them changes. */
export interface FigureSource {
  name: string
  table: string
  /** Workspace, project, hour, and figure of a row, in SQL. */
  parts: (row: string) => [workspace: string, project: string, hour: string, figure: string]
  isCounted: (row: string) => string
  /** Counts updates instead of inserts: the watched columns, the key of the row, and when a change counts. */
  onUpdate?: { column: string; key: string[]; isChange: (before: string, after: string) => string }
}

/** The current project of the pass of a row. */
const projectOf = (row: string, pass: string) => `(select project_id from passes where passes.id = ${row}.${pass})`

/** Returns everything that triggers count for the figures of projects. */
export function figureSources(db: Knex): FigureSource[] {
  const platformOf = (row: string) => `(${asJson(db, `${row}.data`)} ->> 'platform')`
  const ofRegistrations = (figure: string, version: string, at: string): FigureSource => ({
    name: figure,
    table: 'apple_registrations',
    parts: (row) => [`${row}.workspace_id`, projectOf(row, 'pass_id'), hourOf(`${row}.${at}`), `'${figure}'`],
    isCounted: (row) => `${row}.${at} is not null and ${projectOf(row, 'pass_id')} is not null`,
    onUpdate: {
      column: version,
      key: ['device_id', 'pass_id'],
      isChange: (before, after) => `${after}.${version} > ${before}.${version}`,
    },
  })
  return [
    {
      name: 'events',
      table: 'events',
      parts: (row) => [
        `${row}.workspace_id`,
        projectOf(row, 'subject'),
        hourOf(`${row}.created_at`),
        `case ${row}.type when 'pass.issued' then 'issued' when 'pass.voided' then 'voided' when 'pass.updated' then 'updated'
          when 'pass.installed' then 'installed/' || ${platformOf(row)} else 'removed/' || ${platformOf(row)} end`,
      ],
      isCounted: (row) =>
        `${row}.type in ('pass.issued', 'pass.voided', 'pass.updated', 'pass.installed', 'pass.removed')
          and ${projectOf(row, 'subject')} is not null`,
    },
    scanSource(),
    ofRegistrations('pushed', 'pushed_version', 'pushed_at'),
    ofRegistrations('fetched', 'fetched_version', 'fetched_at'),
    {
      name: 'notified',
      table: 'notifications',
      parts: (row) => [`${row}.workspace_id`, projectOf(row, 'pass_id'), hourOf(`${row}.updated_at`), `'notified'`],
      isCounted: (row) => `${isSent(row)} and ${projectOf(row, 'pass_id')} is not null`,
      onUpdate: { column: 'apple_status, google_status', key: ['id'], isChange: (before) => `not ${isSent(before)}` },
    },
  ]
}

/** Returns the source of scans by reason, which the ledger allows to recount. */
export function scanSource(): FigureSource {
  return {
    name: 'scanned',
    table: 'scans',
    parts: (row) => [
      `${row}.workspace_id`,
      `${row}.project_id`,
      hourOf(`${row}.scanned_at`),
      `'scans/' || ${reasonCodeOf(row)}`,
    ],
    isCounted: (row) => `${row}.reason is not null and ${row}.project_id is not null`,
  }
}

/** The reasonCode of a scan, also of one that a device decided (core/rules/redemption/scan-decision.ts). */
const reasonCodeOf = (
  row: string,
) => `coalesce(${row}.reason_code, case ${row}.reason when 'already_used' then 'already_scanned'
  when 'wrong_project' then 'wrong_scope' when 'unverifiable' then 'stale_identifier' else ${row}.reason end)`

const isSent = (row: string) => `(${row}.apple_status = 'SENT' or ${row}.google_status = 'SENT')`
