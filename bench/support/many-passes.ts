import type { Knex } from 'knex'
import { identifierDigest } from '../../src/core/rules/crypto/scan-code.ts'
import { insertRows } from '../../src/storage/db/bulk-rows.ts'
import { isPostgres } from '../../src/storage/db/dialect.ts'

/** Fills a workspace with any number of passes by SQL. A million passes take one or two minutes. */

const TEMPLATES = 10
export const START = Date.UTC(2026, 0, 1)

/** Returns the ID of the n-th pass, oldest first. Pass n was created n milliseconds after START. */
export function passId(n: number): string {
  return timedId(START, n)
}

/** Returns the ID of row n, if rows are created a millisecond apart from `start`. */
export function timedId(start: number, n: number): string {
  const time = (start + n).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

export function templateId(n: number): string {
  return `00000000-0000-7000-8000-${(n % TEMPLATES).toString(16).padStart(12, '0')}`
}

/** Sixty syllables of three letters. Three of them form one of 216,000 family names. */
const SYLLABLES =
  'banbelbirbordancardedovdrafaifenfirgalgergorhanhelhiljanjenjorkalkerkinlanlenlormarmelmirnadnelnorol' +
  'aoreottpalperpinrasrenrossalsenskotamterthoulfvanvelvirwanweryanyorzakzelzimtovs'

const syllable = (index: string) => `substr('${SYLLABLES}', cast(1 + 3 * (${index}) as integer), 3)`

/** The family name of pass n, in SQL. */
const FAMILY_NAME = [syllable('(n * 7919) % 60'), syllable('(n / 60) % 60'), syllable('(n / 3600) % 60')].join(' || ')

/** Returns the family name of pass n. Of a million passes, about five share a name. */
export function familyName(n: number): string {
  const indexes = [(n * 7919) % 60, Math.floor(n / 60) % 60, Math.floor(n / 3600) % 60]
  return indexes.map((index) => SYLLABLES.slice(3 * index, 3 * index + 3)).join('')
}

/**
 * Inserts passes. Pass n has the label "<family name> <n>", the externalPassId "ext-<n>", a unique seat, one of ten
 * tiers, and the template n % 10. The first 25 passes and one in a thousand are VOID, and all others are ISSUED.
 * @param projectId the project of all passes. Default: none
 * @param templates the number of templates that have passes. Default: all ten
 */
export async function insertPasses(
  db: Knex,
  workspaceId: string,
  count: number,
  projectId: string | null = null,
  templates = TEMPLATES,
): Promise<void> {
  await insertTemplates(db, workspaceId)
  const sql = sqlFor(db)
  const chunk = 50_000
  for (let start = 1; start <= count; start += chunk) {
    const range = [start, Math.min(count, start + chunk - 1)]
    await db.transaction(async (tx) => {
      await tx.raw(insertPass(sql, projectId, templates), [...range, workspaceId])
      await tx.raw(insertVariable(sql, 'seat', 'n'), [...range, workspaceId])
      await tx.raw(insertVariable(sql, 'tier', 'n % 10'), [...range, workspaceId])
    })
  }
  // Update the statistics of PostgreSQL, as autovacuum does. On SQLite, the migrations have stored statistics.
  if (isPostgres(db)) await db.raw('vacuum analyze')
}

/** Returns the scan code of the n-th pass. */
export function codeOf(n: number): string {
  return `bench-code-${n}`
}

/** Lets scanners find the first `count` passes by the codes of `codeOf`. */
export async function insertCodes(db: Knex, workspaceId: string, count: number): Promise<void> {
  const chunk = 10_000
  for (let start = 1; start <= count; start += chunk) {
    const identifiers = Array.from({ length: Math.min(chunk, count - start + 1) }, (_, n) => ({
      workspace_id: workspaceId,
      digest: identifierDigest(codeOf(start + n)),
      pass_id: passId(start + n),
      active: true,
    }))
    await db.transaction((tx) => insertRows(tx, 'pass_identifiers', identifiers))
  }
}

/** The SQL that differs between databases, for a range of numbers. */
export interface Sql {
  numbers: string
  /** The SQL equivalent of `timedId`. */
  timedId: (start: number, number: string) => string
  uuid: (text: string) => string
  text: (number: string) => string
  boolean: string
}

export function sqlFor(db: Knex): Sql {
  return isPostgres(db) ? postgres : sqlite
}

const sqlite: Sql = {
  numbers: 'with recursive numbers (n) as (select ? union all select n + 1 from numbers where n < ?)',
  timedId: (start, n) =>
    `printf('%08x-%04x-7000-8000-%012x', (${start} + ${n}) >> 16, (${start} + ${n}) & 65535, ${n})`,
  uuid: (text) => text,
  text: (number) => `(${number})`,
  boolean: '0',
}

const postgres: Sql = {
  numbers: 'with numbers as (select n from generate_series(?::bigint, ?::bigint) as n)',
  timedId: (
    start,
    n,
  ) => `(lpad(to_hex((${start} + ${n}) >> 16), 8, '0') || '-' || lpad(to_hex((${start} + ${n}) & 65535), 4, '0')
    || '-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`,
  uuid: (text) => `(${text})::uuid`,
  text: (number) => `(${number})::text`,
  boolean: 'false',
}

function insertPass(
  { numbers, timedId, uuid, text, boolean }: Sql,
  projectId: string | null,
  templates: number,
): string {
  const template = uuid(`'00000000-0000-7000-8000-00000000000' || ${text(`n % ${templates}`)}`)
  return `insert into passes (id, workspace_id, external_pass_id, external_folded, label, label_folded, status, version,
    revision, wallet_version, project_id, template_id, template_version_id, template_version, variables, has_windows, scan_code,
    apple_token, link_generation, created_at, updated_at, modified_at)
  ${numbers}
  select ${timedId(START, 'n')}, ${uuid('w.id')}, 'ext-' || ${text('n')}, 'ext-' || ${text('n')}, ${FAMILY_NAME} || ' ' || ${text('n')},
    ${FAMILY_NAME} || ' ' || ${text('n')}, case when n <= 25 or n % 1000 = 0 then 'VOID' else 'ISSUED' end, 2, 1, 1,
    ${projectId === null ? 'null' : uuid(`'${projectId}'`)}, ${template}, ${template}, 1,
    '{"seat":"' || ${text('n')} || '","tier":"' || ${text('n % 10')} || '"}', ${boolean}, 'bench-code-' || ${text('n')}, 'token', 0,
    ${START} + n, ${START} + n, ${START}
  from numbers cross join (select id from workspaces where id = ?) w`
}

function insertVariable({ numbers, timedId, text }: Sql, name: string, value: string): string {
  return `insert into pass_variables (workspace_id, name, value, pass_id)
  ${numbers} select w.id, '${name}', ${text(value)}, ${timedId(START, 'n')}
  from numbers cross join (select id from workspaces where id = ?) w`
}

async function insertTemplates(db: Knex, workspaceId: string): Promise<void> {
  const definition = JSON.stringify({
    variables: [],
    design: {
      organizationName: 'Bench',
      description: 'Bench',
      colors: {},
      images: {},
      barcode: { format: 'qr' },
      fields: { header: [], primary: [], secondary: [], auxiliary: [], back: [] },
      locations: [],
      links: [],
    },
    expiresAt: null,
  })
  for (let n = 0; n < TEMPLATES; n += 1) {
    const id = templateId(n)
    const times = { created_at: START, updated_at: START }
    await db('templates').insert({
      id,
      workspace_id: workspaceId,
      name: `Template ${n}`,
      description: '',
      pass_type: 'generic',
      latest_version: 1,
      published_version: 1,
      published_version_id: id,
      ...times,
    })
    await db('template_versions').insert({
      id,
      workspace_id: workspaceId,
      template_id: id,
      version: 1,
      stage: 'published',
      definition,
      published_at: START,
      ...times,
    })
  }
}
