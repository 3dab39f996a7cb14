import type { Knex } from 'knex'
import { newId } from '../../core/ids.ts'
import type { Grant, PersonRole } from '../../core/rules/people/person-roles.ts'
import { field, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { insertNew, Repository } from '../db/repository.ts'
import {
  type CallerWorkspace,
  type CallerWorkspaceRow,
  selectWorkspace,
  toWorkspace,
} from '../workspaces/caller-workspace.ts'
import { Usage } from '../workspaces/limits-repository.ts'
import type { ClaimedRole } from './people-repository.ts'

const SESSION = mapping({
  id: field.text,
  workspaceId: field.text,
  personId: field.text,
  /** The ID of the session at the identity provider, if the provider sends one. */
  providerSession: field.optionalText,
  createdAt: field.time,
  lastUsedAt: field.time,
  /** The latest end of the session. An idle session ends earlier. */
  expiresAt: field.time,
})

/** The session of a person in one workspace, without the SHA-256 digest by which it is found. */
export interface StoredSession extends RecordOf<typeof SESSION> {}

type Row = RowOf<typeof SESSION>

export interface SessionWithPerson extends StoredSession {
  person: { issuer: string; subject: string; email: string }
  /** The roles in the workspace of the session: those of the member, and those that the provider claimed. */
  grants: Grant[]
  workspace: CallerWorkspace
}

interface FoundRow extends Row, CallerWorkspaceRow {
  issuer: string
  subject: string
  email: string
  claimed_roles: string
}

const ENDED = mapping({
  id: field.text,
  workspaceId: field.text,
  personId: field.text,
  subject: field.text,
  email: field.text,
})

export interface EndedSession extends RecordOf<typeof ENDED> {}

/** The row of an ended session is deleted. */
export class Sessions extends Repository {
  async insert(
    workspaceId: string,
    session: Pick<StoredSession, 'personId' | 'providerSession' | 'expiresAt'> & { digest: string },
    at: Date,
  ): Promise<StoredSession> {
    const { digest, ...given } = session
    const stored = { ...given, id: newId(at), workspaceId, createdAt: at, lastUsedAt: at }
    await this.db('sessions').insert({ ...SESSION.write(stored), digest })
    return stored
  }

  /** Finds a session across workspaces, because the session determines the workspace. */
  async findByDigest(digest: string): Promise<SessionWithPerson | undefined> {
    const row: FoundRow | undefined = await selectWorkspace(this.db('sessions'), 'sessions')
      .join('people', 'people.id', 'sessions.person_id')
      .where({ digest })
      .select(SESSION.from('sessions'), 'people.issuer', 'people.subject', 'people.email', 'people.claimed_roles')
      .first()
    if (!row) return undefined
    const { workspace_id: workspaceId, issuer, subject, email } = row
    const members: { role: PersonRole; project_ids: string | null }[] = await this.db('members')
      .where({ workspace_id: workspaceId, email })
      .orderBy('role')
      .select('role', 'project_ids')
    const claimed = (JSON.parse(row.claimed_roles) as ClaimedRole[]).filter((one) => one.workspaceId === workspaceId)
    const usage = await new Usage({ db: this.db }).listStored([workspaceId])
    return {
      ...SESSION.read(row),
      person: { issuer, subject, email },
      grants: [
        ...members.map(({ role, project_ids: ids }) => ({ role, projectIds: ids === null ? null : JSON.parse(ids) })),
        ...claimed.map(({ role }) => ({ role, projectIds: null })),
      ],
      workspace: toWorkspace(row, usage.get(workspaceId)),
    }
  }

  async setLastUsed(workspaceId: string, id: string, at: Date): Promise<void> {
    await this.db('sessions').where({ workspace_id: workspaceId, id }).update({ last_used_at: at.getTime() })
  }

  /** Returns the unexpired sessions of a workspace, with the addresses of their people, newest first. */
  async list(workspaceId: string, at: Date): Promise<(StoredSession & { email: string })[]> {
    const sessions = this.db('sessions')
      .join('people', 'people.id', 'sessions.person_id')
      .where('sessions.workspace_id', workspaceId)
      .where('sessions.expires_at', '>', at.getTime())
      .orderBy('sessions.id', 'desc')
      .select(SESSION.from('sessions'), 'people.email')
    return listRecords(sessions, (row: Row & { email: string }) => ({ ...SESSION.read(row), email: row.email }))
  }

  async end(workspaceId: string, id: string): Promise<EndedSession[]> {
    return this.endAll((query) => query.where({ workspace_id: workspaceId, 'sessions.id': id }))
  }

  async endOfEmail(workspaceId: string, email: string): Promise<EndedSession[]> {
    return this.endAll((query) => query.where({ workspace_id: workspaceId, email }))
  }

  /** Ends a session. Needs no workspace, because the digest of its secret identifies the session. */
  async endByDigest(digest: string): Promise<EndedSession[]> {
    return this.endAll((query) => query.where({ digest }))
  }

  /** Ends a person's sessions in all workspaces, or only those that belong to one session at the provider. */
  async endOfPerson(
    issuer: string,
    { subject, providerSession }: { subject?: string | undefined; providerSession?: string | undefined },
  ): Promise<EndedSession[]> {
    return this.endAll((query) =>
      query.where({
        issuer,
        ...(subject !== undefined && { subject }),
        ...(providerSession !== undefined && { provider_session: providerSession }),
      }),
    )
  }

  /**
   * Records the use of a logout token. Returns false if it was used before, including by a concurrent request. Deletes
   * tokens that are older than `keptMs`.
   */
  async useLogoutToken(digest: string, keptMs: number, at: Date): Promise<boolean> {
    await this.db('logout_tokens')
      .where('used_at', '<', at.getTime() - keptMs)
      .delete()
    return insertNew(this.db, 'logout_tokens', { digest, used_at: at.getTime() }, ['digest'])
  }

  /** Deletes and returns sessions. Selects them first, because a delete cannot return the columns of people. */
  private async endAll(select: (query: Knex.QueryBuilder) => void): Promise<EndedSession[]> {
    const selected = this.db('sessions')
      .join('people', 'people.id', 'sessions.person_id')
      .modify(select)
      .select(ENDED.from('sessions', { subject: 'people.subject', email: 'people.email' }))
    const ended = await listRecords(selected, ENDED.read)
    const ids = ended.map(({ id }) => id)
    await this.db('sessions').whereIn('id', ids).delete()
    return ended
  }
}
