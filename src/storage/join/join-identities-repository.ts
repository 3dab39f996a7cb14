import { isTaken } from '../db/database-errors.ts'
import { field, findRecord, mapping, type RecordOf } from '../db/record.ts'
import { insertNew, Repository } from '../db/repository.ts'

const IDENTITY = mapping({
  templateId: field.text,
  /** The SHA-256 of the address in lower case, in hexadecimal. */
  digest: field.text,
  passId: field.text,
  /** The variable of the pass that contains the address. */
  variable: field.text,
  language: field.text,
  /** The time at which the last email was queued. */
  mailedAt: field.optionalTime,
})

export interface StoredIdentity extends RecordOf<typeof IDENTITY> {}

/** The minimum time between two emails to an address, in milliseconds. */
const MAIL_INTERVAL_MS = 60_000

export class AddressTaken extends Error {}

/** The addresses that have a pass of a template. */
export class JoinIdentities extends Repository {
  /**
   * Stores the address of a new pass. Returns false if the address already has a pass, even one that a concurrent
   * transaction creates.
   */
  async insert(workspaceId: string, identity: Omit<StoredIdentity, 'mailedAt'>): Promise<boolean> {
    const row = { ...IDENTITY.write({ ...identity, mailedAt: null }), workspace_id: workspaceId }
    return insertNew(this.db, 'join_identities', row, ['workspace_id', 'template_id', 'digest'])
  }

  /**
   * Records that an email to an address is queued, and returns the pass of the address. Returns `undefined` if the
   * address has no pass, or if an email was queued in the last minute.
   */
  async takeMail(
    workspaceId: string,
    { templateId, digest, language }: Pick<StoredIdentity, 'templateId' | 'digest' | 'language'>,
    at: Date,
  ): Promise<string | undefined> {
    const [due]: { pass_id: string }[] = await this.db('join_identities')
      .where({ workspace_id: workspaceId, template_id: templateId, digest })
      .where((or) => or.whereNull('mailed_at').orWhere('mailed_at', '<=', at.getTime() - MAIL_INTERVAL_MS))
      .update({ mailed_at: at.getTime(), language })
      .returning('pass_id')
    return due?.pass_id
  }

  async findByPass(workspaceId: string, passId: string): Promise<StoredIdentity | undefined> {
    return findRecord(this.ofPass(workspaceId, passId), IDENTITY.read)
  }

  /**
   * Replaces the address of a pass.
   * @throws AddressTaken if the address has another pass of the template. The transaction must be rolled back
   */
  async setDigest(workspaceId: string, passId: string, digest: string): Promise<void> {
    try {
      await this.ofPass(workspaceId, passId).update({ digest, mailed_at: null })
    } catch (error) {
      throw isTaken(error) ? new AddressTaken() : error
    }
  }

  /** Forgets the address of a pass, so that the address can get another pass. */
  async deleteOfPass(workspaceId: string, passId: string): Promise<void> {
    await this.ofPass(workspaceId, passId).delete()
  }

  private ofPass(workspaceId: string, passId: string) {
    return this.db('join_identities').where({ workspace_id: workspaceId, pass_id: passId })
  }
}
