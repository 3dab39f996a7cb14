import { type doors as contract, Door, type DoorClaim, MAX_DOOR_DAYS } from '../../../core/contract/scans/doors.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { newScanCode } from '../../../core/rules/crypto/scan-code.ts'
import { newToken, tokenDigest } from '../../../core/rules/crypto/token.ts'
import type { Direction } from '../../../core/rules/zones/presence.ts'
import type { DoorPlace, StoredDoor } from '../../../storage/workspaces/doors-repository.ts'
import type { PublicContext, Repositories, RequestContext } from '../../context.ts'
import { requireOpen } from '../../http/middleware/authenticate.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { requireChange } from '../require-change.ts'
import { noZone } from '../scans/zone-scans.ts'
import { holdProject } from '../token-projects.ts'

const MAX_MS = MAX_DOOR_DAYS * 86_400_000

/** The maximum number of open invitations per project. */
const MAX_INVITATIONS = 100
/** The maximum number of doors per project. Unclaimed uses of invitations count as doors. */
const MAX_DOORS = 5_000

export const doors: Handlers<typeof contract> = {
  invite: ({ body }, context) => {
    const { store, workspaceId, now, services } = context
    const { projectId, gate, uses } = body
    const expiresAt = requireExpiryInRange(body.expiresAt, now)
    const code = newScanCode()
    return store.transaction(async (tx) => {
      // Without this lock, a concurrent request could delete the project, or exceed MAX_INVITATIONS.
      await holdProject(tx, workspaceId, projectId)
      await requireRoom(tx, workspaceId, body, now)
      const invitation = { projectId, gate, uses, expiresAt, codeDigest: tokenDigest(code) }
      const id = await tx.doors.insertInvitation(workspaceId, invitation, now)
      await audit(tx, context, 'door-invitation.create', id)
      const url = `${services.links.publicUrl}/door#${code}`
      return { id, url, code, expiresAt: expiresAt.toISOString() }
    })
  },

  endInvitation: ({ params: { id } }, context) =>
    context.store.transaction(async (tx) => {
      if (!(await tx.doors.endInvitation(context.workspaceId, id))) {
        throw new ApiError('NOT_FOUND', { message: 'Invitation not found.', details: { invitationId: id } })
      }
      await audit(tx, context, 'door-invitation.end', id)
    }),

  claim: ({ body }, context) => claimDoor(body, context),

  list: async ({ query }, { store, workspaceId, token }) => {
    const { projectId, revoked, cursor, offset, limit } = query
    const isPlain = !projectId && revoked === undefined && cursor === undefined && !offset
    if (token.door && isPlain) {
      // Read only the row of the door, because doors send this request every few seconds.
      const door = await store.doors.find(workspaceId, token.id)
      const rows = door ? [toDoor(door)] : []
      return { items: rows, total: rows.length, limit, offset: 0, nextCursor: null, hasMore: false }
    }
    return toPage(await store.doors.list(workspaceId, { ...query, ...(token.door && { id: token.id }) }), toDoor)
  },

  update: ({ params: { id }, body }, context) => {
    const { token } = context
    if (token.door && (token.id !== id || body.name !== undefined)) {
      throw new ApiError('FORBIDDEN', {
        message: 'With its token, a door can change only its own gate, zone, and direction.',
      })
    }
    requireChange(body, 'Give at least one of name, gate, zoneId, and direction.')
    return context.store.transaction(async (tx) => {
      const door = (await tx.doors.find(context.workspaceId, id)) ?? missing(id)
      await tx.doors.update(context.workspaceId, id, { ...body, ...(await placeInZone(tx, door, body, context)) })
      await audit(tx, context, 'door.update', id)
      return toDoor((await tx.doors.find(context.workspaceId, id))!)
    })
  },

  revoke: ({ params: { id } }, context) =>
    context.store.transaction(async (tx) => {
      if (!(await tx.doors.revoke(context.workspaceId, id, context.now))) missing(id)
      await audit(tx, context, 'door.revoke', id)
    }),
}

function toDoor(door: StoredDoor): Door {
  const zoneId = door.zoneId ?? undefined
  return toBody(Door, { ...door, zoneId, direction: zoneId === undefined ? undefined : (door.direction ?? 'in') })
}

/**
 * Returns the new zone and direction of a door.
 * @throws ApiError NOT_FOUND if the project of the door lacks the zone, VALIDATION_ERROR for a direction without a zone
 */
async function placeInZone(
  tx: Repositories,
  door: StoredDoor,
  { zoneId, direction }: { zoneId?: string | null | undefined; direction?: Direction | undefined },
  { workspaceId }: RequestContext,
): Promise<Partial<DoorPlace>> {
  if (zoneId === undefined && direction === undefined) return {}
  const next = zoneId === undefined ? door.zoneId : zoneId
  if (next === null) {
    if (direction !== undefined)
      throw validationError([{ path: ['direction'], message: 'The door has no zone: also set zoneId' }])
    return { zoneId: null, direction: null }
  }
  // Without this lock, a concurrent request could delete the zone.
  const zone = await tx.zones.findForUpdate(workspaceId, next)
  if (zone?.projectId !== door.projectId) throw noZone(next)
  return { zoneId: next, direction: direction ?? door.direction ?? 'in' }
}

/** Makes a phone a door. @throws ApiError NOT_FOUND with the reason in its details, TENANT_SUSPENDED, TENANT_EXPIRED */
async function claimDoor(
  { code, name }: { code: string; name: string },
  { store, now, correlationId }: PublicContext,
): Promise<DoorClaim> {
  const codeDigest = tokenDigest(code)
  // Read before writing, so that requests with guessed codes never take the write lock.
  const state = await store.doors.invitationState(codeDigest, now)
  if (state !== 'open') throw notClaimable(state)
  return store.transaction(async (tx) => {
    const claimed = await tx.doors.claim(codeDigest, now)
    // Another phone claimed the last use in the meantime.
    if (!claimed) throw notClaimable('used_up')
    const { workspaceId, projectId, gate, workspace } = claimed
    requireOpen(workspace, now, { workspaceId })
    const text = newToken()
    const token = await tx.tokens.insert(
      workspaceId,
      {
        name,
        role: 'member',
        scopes: ['scans:read', 'scans:write'],
        projectIds: [projectId],
        digest: tokenDigest(text),
        expiresAt: new Date(now.getTime() + MAX_MS),
      },
      now,
    )
    await tx.doors.insert(workspaceId, { id: token.id, projectId, gate }, now)
    await audit(tx, { workspaceId, token, correlationId, now }, 'door.claim', token.id)
    return { door: toDoor((await tx.doors.find(workspaceId, token.id))!), token: text }
  })
}

const NOT_CLAIMABLE = {
  used_up: 'All uses of this invitation are taken. Ask for a new one.',
  ended: 'This invitation has ended. Ask for a new one.',
  unknown: 'The invitation code is unknown. Check it, or ask for a new one.',
}

function notClaimable(reason: keyof typeof NOT_CLAIMABLE): ApiError {
  return new ApiError('NOT_FOUND', { message: NOT_CLAIMABLE[reason], details: { reason } })
}

function requireExpiryInRange(given: string, now: Date): Date {
  const expiresAt = new Date(given)
  const ahead = expiresAt.getTime() - now.getTime()
  const message = ahead <= 0 ? 'Must be in the future' : ahead > MAX_MS && `Must be within ${MAX_DOOR_DAYS} days`
  if (message) throw validationError([{ path: ['expiresAt'], message }])
  return expiresAt
}

async function requireRoom(
  tx: Repositories,
  workspaceId: string,
  { projectId, uses }: { projectId: string; uses: number },
  now: Date,
): Promise<void> {
  const has = await tx.doors.counts(workspaceId, projectId, now)
  const limitError = (limit: string, allowed: number, used: number, message: string) =>
    new ApiError('CONFLICT', { message, details: { limit, allowed, used } })
  if (has.invitations >= MAX_INVITATIONS) {
    const message = `The project has ${MAX_INVITATIONS} open invitations: cancel one, or wait until one expires.`
    throw limitError('doorInvitations', MAX_INVITATIONS, has.invitations, message)
  }
  const used = has.doors + has.uses
  if (used + uses > MAX_DOORS) {
    const message = `A project can have ${MAX_DOORS} doors and invited phones: revoke a door, or cancel an invitation.`
    throw limitError('doors', MAX_DOORS, used, message)
  }
}

function missing(doorId: string): never {
  throw new ApiError('NOT_FOUND', { message: 'Door not found.', details: { doorId } })
}
