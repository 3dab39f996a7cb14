import type { Knex } from 'knex'

/** A server that answers requests, as it last told the others. */
export interface Replica {
  id: string
  /** Differs with every write. */
  beat: number
  /** How many requests it has let through, by key of the rate limit; only keys of late. */
  spent: Record<string, number>
}

/** What servers that share rate limits tell each other: each writes a row of its own and reads all. */
export class Replicas {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async write({ id, beat, spent }: Replica): Promise<void> {
    await this.db('replicas')
      .insert({ id, beat, spent: JSON.stringify(spent) })
      .onConflict('id')
      .merge()
  }

  async listOthers(id: string): Promise<Replica[]> {
    const rows: (Omit<Replica, 'spent'> & { spent: string })[] = await this.db('replicas').whereNot({ id })
    return rows.map((row) => ({ ...row, spent: JSON.parse(row.spent) }))
  }

  async delete(ids: string[]): Promise<void> {
    await this.db('replicas').whereIn('id', ids).delete()
  }
}
