import type { Knex } from 'knex'

/** Facts about the installation as a whole, by name. */
export class Settings {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async find(name: string): Promise<string | undefined> {
    return (await this.db('settings').where({ name }).first('value'))?.value
  }

  /** Stores the value if there is none yet, and returns the one that stands. */
  async insert(name: string, value: string): Promise<string> {
    await this.db('settings').insert({ name, value }).onConflict('name').ignore()
    return (await this.find(name)) ?? value
  }

  async delete(name: string): Promise<void> {
    await this.db('settings').where({ name }).delete()
  }

  async update(name: string, value: string): Promise<void> {
    await this.db('settings').where({ name }).update({ value })
  }
}
