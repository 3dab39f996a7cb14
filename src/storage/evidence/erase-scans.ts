import type { Knex } from 'knex'
import { commitmentOf, hex } from '../../core/rules/evidence/chain.ts'
import { runPrepared } from '../db/prepared.ts'
import { asId, bytesOfHex, elementsOfJson } from '../db/values.ts'
import { ERASED, readEntries } from './entries.ts'

/** The number of scans that one statement erases. */
const SCANS_AT_ONCE = 1_000

/**
 * Removes personal data from scans. Their chain stays verifiable: it keeps the digest of the data, whose salt is deleted
 * (decisions/0022).
 * @param scans a query that selects the scans
 */
export async function eraseScans(db: Knex, scans: () => Knex.QueryBuilder): Promise<void> {
  // Lock the scans, so that none is chained while its data is erased.
  await scans().orderBy('id').forUpdate().select('id')
  const erased = { external_pass_id: null, payload_digest: null, context: null, reversal_reason: null, ...ERASED }
  const assignments = Object.entries(erased).map(
    ([column, value]) => `${column} = ${value === null ? 'null' : `'${value}'`}`,
  )
  const update = `update scans set ${assignments.join(', ')}, salt = null, commitment = ${bytesOfHex(db, '(value ->> 1)')}
    from ${elementsOfJson(db, ':committed')} where scans.id = ${asId(db, 'value ->> 0')}`
  for (;;) {
    const ids: string[] = await scans().whereNotNull('salt').orderBy('id').limit(SCANS_AT_ONCE).pluck('id')
    if (ids.length === 0) break
    const entries = [...(await readEntries(db, 'scans', ids))]
    const committed = entries.map(([scanId, { salt, personal }]) => [scanId, hex(commitmentOf(salt!, personal))])
    await runPrepared(db, 'erase-scans', { committed: JSON.stringify(committed) }, () => update)
  }
  await scans().update(erased)
}
