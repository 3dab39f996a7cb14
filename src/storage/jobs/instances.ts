import type { Knex } from 'knex'

/** A server that answers requests, as it last told the others. */
export interface Instance {
  id: string
  /** Differs with every write. */
  heartbeat: number
  /** How many requests it has let through, by key of the rate limit; only keys of late. */
  usage: Record<string, number>
}

/** What servers that share rate limits tell each other: each writes a row of its own and reads all. */
export class Instances {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async write({ id, heartbeat, usage }: Instance): Promise<void> {
    await this.db('replicas')
      .insert({ id, beat: heartbeat, spent: JSON.stringify(usage) })
      .onConflict('id')
      .merge()
  }

  async listOthers(id: string): Promise<Instance[]> {
    const rows: { id: string; beat: number; spent: string }[] = await this.db('replicas').whereNot({ id })
    return rows.map(({ id, beat, spent }) => ({ id, heartbeat: beat, usage: JSON.parse(spent) }))
  }

  async delete(ids: string[]): Promise<void> {
    await this.db('replicas').whereIn('id', ids).delete()
  }
}
