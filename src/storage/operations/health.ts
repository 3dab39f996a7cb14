import type { Database } from '../db/database.ts'

/** Looks that an operator takes at the database itself, to find out why nothing works. */

/** Reads anything at all. */
export async function assertReadable({ reader }: Database): Promise<void> {
  await reader.raw('select 1')
  // A file is looked into only now.
  await reader.schema.hasTable('migrations')
}

/** Writes a row and takes it back. */
export async function assertWritable({ writer }: Database): Promise<void> {
  const rollback = new Error('Taken back')
  try {
    await writer.transaction(async (tx) => {
      await tx('settings').insert({ name: 'doctor', value: '' }).onConflict('name').ignore()
      throw rollback
    })
  } catch (error) {
    if (error !== rollback) throw error
  }
}

/** What SQLite finds wrong with its file; nothing for a sound one, undefined for PostgreSQL, which has no such look. */
export async function findDamage({ dialect, reader }: Database): Promise<string[] | undefined> {
  if (dialect !== 'sqlite') return undefined
  const rows: { quick_check: string }[] = await reader.raw('pragma quick_check(5)')
  return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
}

/**
 * The time by the clock of another machine, if the database is on one; never used for anything but to compare. Undefined
 * for SQLite, which has none.
 */
export async function findDatabaseTime({ dialect, reader }: Database): Promise<Date | undefined> {
  if (dialect !== 'postgres') return undefined
  const { rows } = (await reader.raw('select clock_timestamp() as at')) as { rows: { at: Date }[] }
  return rows[0]?.at
}
