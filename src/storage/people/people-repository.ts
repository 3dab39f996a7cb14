import { newId } from '../../core/ids.ts'
import type { PersonRole } from '../../core/rules/people/person-roles.ts'
import { field, mapping, type RecordOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

export interface ClaimedRole {
  workspaceId: string
  role: PersonRole
}

const PERSON = mapping({
  id: field.text,
  issuer: field.text,
  subject: field.text,
  /** The address in the form of `comparableEmail`. */
  email: field.text,
  /** The roles that the provider claimed at the last sign-in. */
  claimedRoles: field.json<ClaimedRole[]>(),
  createdAt: field.time,
  signedInAt: field.time,
})

export interface StoredPerson extends RecordOf<typeof PERSON> {}

/** The people who signed in. A person has one row, which all workspaces share. */
export class People extends Repository {
  /** Stores a person with the email address and roles of this sign-in, which replace those of earlier sign-ins. */
  async signIn(
    person: Pick<StoredPerson, 'issuer' | 'subject' | 'email' | 'claimedRoles'>,
    at: Date,
  ): Promise<StoredPerson> {
    const row = PERSON.write({ ...person, id: newId(at), createdAt: at, signedInAt: at })
    const [stored] = await this.db('people')
      .insert(row)
      .onConflict(['issuer', 'subject'])
      .merge(['email', 'claimed_roles', 'signed_in_at'])
      .returning(PERSON.columns)
    return PERSON.read(stored)
  }

  /**
   * Updates a person who has no role. Does not insert unknown people, because anyone with an account at the provider
   * could fill the table.
   */
  async updateWithoutRole({
    issuer,
    subject,
    email,
  }: Pick<StoredPerson, 'issuer' | 'subject' | 'email'>): Promise<void> {
    await this.db('people').where({ issuer, subject }).update({ email, claimed_roles: '[]' })
  }

  /** Returns the IDs of all people with the given address, for operators. */
  async listIdsByEmail(email: string): Promise<string[]> {
    return this.db('people').where({ email }).orderBy('id').pluck('id')
  }
}
