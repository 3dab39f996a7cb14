import { newId } from '../../core/ids.ts'
import type { Grant, PersonRole } from '../../core/rules/people/person-roles.ts'
import { deleteReturningIds } from '../db/dialect.ts'
import { field, listRecords, mapping, type RecordOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

const MEMBER = mapping({
  id: field.text,
  workspaceId: field.text,
  /** The address in the form of `comparableEmail`. */
  email: field.text,
  role: field.plain<PersonRole>(),
  /** The projects in which the role applies; null for the whole workspace. */
  projectIds: field.nullable(field.json<string[]>()),
  createdAt: field.time,
})

/** One role of a member, who can have several roles. */
export interface StoredMember extends RecordOf<typeof MEMBER> {}

export class Members extends Repository {
  /** Gives a member a role. If the member already has the role, replaces its projects. */
  async insertOrUpdate(workspaceId: string, member: Grant & { email: string }, at: Date): Promise<StoredMember> {
    const row = MEMBER.write({ ...member, id: newId(at), workspaceId, createdAt: at })
    const [stored] = await this.db('members')
      .insert(row)
      .onConflict(['workspace_id', 'email', 'role'])
      .merge(['project_ids'])
      .returning(MEMBER.columns)
    return MEMBER.read(stored)
  }

  /** Removes one role of a member or, by default, all roles. Returns the IDs of the removed roles. */
  remove(workspaceId: string, email: string, role?: PersonRole): Promise<string[]> {
    const removed = this.db('members').where({ workspace_id: workspaceId, email, ...(role && { role }) })
    return deleteReturningIds(this.db, removed)
  }

  async list(workspaceId: string): Promise<StoredMember[]> {
    const ofWorkspace = this.db('members').where({ workspace_id: workspaceId })
    return listRecords(ofWorkspace.orderBy(['email', 'role']), MEMBER.read)
  }

  async listOfEmail(email: string): Promise<StoredMember[]> {
    return listRecords(this.db('members').where({ email }).orderBy('id'), MEMBER.read)
  }
}
