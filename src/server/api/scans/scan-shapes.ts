import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Definition } from '../../../core/contract/schemas/definition.ts'
import type {
  DoorGroup,
  PassSummary,
  ScanContext,
  ScanItem,
  ScanRecord,
} from '../../../core/contract/schemas/scan-shapes.ts'
import { validationError } from '../../../core/errors.ts'
import { balanceValue } from '../../../core/rules/balances/balances.ts'
import { doorViewOf } from '../../../core/rules/display/door-view.ts'
import { withFields } from '../../../core/rules/door/balances-at-door.ts'
import { groupAtDoor } from '../../../core/rules/door/group-at-door.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { balanceField } from '../../../core/rules/redemption/scan-message.ts'
import { inLanguage, writtenOf } from '../../../core/rules/template/definition-languages.ts'
import { imageVariables } from '../../../core/rules/template/image-choice.ts'
import { fill, lonePlaceholder, type Scope } from '../../../core/rules/template/placeholder.ts'
import { bytesIn, compileSizes } from '../../../core/rules/template/rendered-size.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import type { Direction } from '../../../core/rules/zones/presence.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import type { GroupAtDoor } from '../../../storage/passes/groups-repository.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import { NO_USES, type UseCounts } from '../../../storage/scans/accepted-scans.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import type { Links } from '../../link-signing.ts'
import { pageLanguage } from '../../pages/words.ts'
import { languageOf } from './message-languages.ts'

/** Returns a scan as in lists, single reads, and pass.scanned events, always with the same bytes for the same scan. */
export function toScanItem(scan: StoredScan): ScanItem {
  return {
    id: scan.id,
    result: scan.result,
    reason: scan.reason,
    verified: scan.verified,
    passId: scan.passId,
    projectId: scan.projectId,
    externalPassId: scan.externalPassId,
    scannedAt: scan.scannedAt.toISOString(),
    recordedAt: scan.recordedAt.toISOString(),
    deviceId: scan.deviceId,
    metadata: {
      ...scan.context,
      ...(scan.conflict !== null && { conflict: scan.conflict }),
      ...(scan.validateAsOf !== null && { validateAsOf: scan.validateAsOf }),
      ...(scan.deviceTime !== null && { deviceTime: scan.deviceTime.toISOString() }),
    },
    ...(scan.reversesScanId !== null && {
      reversesScanId: scan.reversesScanId,
      reversalReason: scan.reversalReason,
    }),
    ...movementOf(scan),
  }
}

function movementOf({ zoneId, direction }: StoredScan) {
  return zoneId !== null && direction !== null && { zoneId, direction }
}

export function toScanRecord(scan: StoredScan): ScanRecord {
  const recordedAt = scan.recordedAt.toISOString()
  return {
    id: scan.id,
    passId: scan.passId,
    projectId: scan.projectId,
    templateVersionId: scan.templateVersionId,
    redemptionSnapshot: scan.redemption,
    scanContextKey: scan.scanContextKey,
    scannedAt: scan.scannedAt.toISOString(),
    recordedAt,
    reversesScanId: scan.reversesScanId,
    deviceId: scan.deviceId,
    context: scan.context,
    externalRef: scan.externalRef,
    reason: scan.reversalReason,
    matchedCount: scan.matchedCount,
    createdAt: recordedAt,
    ...movementOf(scan),
  }
}

type ScannedAt = Pick<StoredScan, 'scanContextKey' | 'zoneId'>

export async function summarizePasses(
  passIds: string[],
  scanned: ScannedAt,
  context: RequestContext,
): Promise<{ pass: StoredPass; summary: PassSummary }[]> {
  if (passIds.length === 0) return []
  const { store, workspaceId } = context
  const passes = new Map((await store.passes.listByIds(workspaceId, passIds)).map((pass) => [pass.id, pass]))
  const uses = await store.acceptedScans.listCounts(workspaceId, passIds, scanned.scanContextKey)
  const found = passIds.flatMap((id) => passes.get(id) ?? [])
  return Promise.all(
    found.map(async (pass) => ({
      pass,
      summary: await toPassSummary(pass, uses.get(pass.id) ?? NO_USES, scanned, context),
    })),
  )
}

export async function toPassSummary(
  pass: StoredPass,
  uses: UseCounts,
  { scanContextKey, zoneId }: ScannedAt,
  context: RequestContext,
): Promise<PassSummary> {
  const { services, token } = context
  const found = await services.definitions.find(pass.workspaceId, pass.templateVersionId)
  const { languages } = found ? writtenOf(found) : {}
  const definition = found && languages ? inLanguage(found, pageLanguage(context.headers, languages).ofTexts) : found
  const scope = definition && buildScope(definition, pass, pass.expiresAt)
  const photoUrl = definition?.photo && photoOf(definition, scope!, services.links)
  const balances = Object.entries(definition?.balances ?? {}).map(([name, balance]) =>
    balanceField(balance, balanceValue(balance, name, pass.balanceSums), languageOf(context)),
  )
  const door = withFields(definition && doorViewOf(definition, scope!), balances)
  const group =
    pass.group && (await findGroup(context.store, { pass, groupId: pass.group.id, scanContextKey, zoneId, context }))
  return {
    id: pass.id,
    externalPassId: pass.externalPassId,
    label: pass.label,
    projectId: pass.projectId,
    projectName: pass.projectName,
    templateVersionId: pass.templateVersionId,
    templateName: pass.templateName,
    templateVersionNumber: pass.templateVersion,
    expiresAt: pass.expiresAt?.toISOString() ?? null,
    acceptedScanCount: uses.count,
    lastAcceptedScanAt: uses.lastAt?.toISOString() ?? null,
    scanContextKey,
    contextAcceptedScanCount: uses.contextCount,
    contextLastAcceptedScanAt: uses.contextLastAt?.toISOString() ?? null,
    photoUrl: photoUrl || null,
    // A door must not see variables, except those in its view of the pass.
    variables: token.door ? {} : pass.variables,
    ...(door && { door }),
    ...(group && { group }),
  }
}

interface AskedGroup extends GroupAtDoor {
  pass: StoredPass
  zoneId: string | null
  context: RequestContext
}

const findGroup = grouped(async (store: Store, take: () => AskedGroup[]): Promise<DoorGroup[]> => {
  // Wait until the other scans of the same transaction also call this function, so that they share one query.
  await nextTurn()
  const requests = take()
  const keyOf = ({ groupId, scanContextKey }: GroupAtDoor) => JSON.stringify([groupId, scanContextKey])
  const groups = new Map(requests.map((one) => [keyOf(one), one]))
  const found = await store.groups.listAtDoor(requests[0]!.context.workspaceId, [...groups.values()])
  const members = new Map([...groups.keys()].map((key, n) => [key, found[n]!]))
  const seenOf = (one: AskedGroup) => members.get(keyOf(one))!
  const sides = await sidesOf(store, requests, seenOf)
  return requests.map((one) => {
    const { now } = one.context
    const seen = seenOf(one).map((member) => ({
      ...member,
      status: effectiveStatus(member, now),
      side: one.zoneId === null ? undefined : (sides.get(`${one.zoneId} ${member.passId}`) ?? null),
    }))
    return groupAtDoor(seen, one.pass.id)
  })
})

/** Returns the direction of each group member's last movement in each zone, by `zoneId passId`. */
async function sidesOf(
  { movements }: Store,
  asked: AskedGroup[],
  membersOf: (one: AskedGroup) => { passId: string }[],
): Promise<Map<string, Direction>> {
  const inZones = asked.filter(({ zoneId }) => zoneId !== null)
  const passIds = new Set(inZones.flatMap((one) => membersOf(one).map(({ passId }) => passId)))
  const current = await movements.listCurrent(asked[0]!.context.workspaceId, [...passIds])
  return new Map(current.map(({ zoneId, passId, direction }) => [`${zoneId} ${passId}`, direction]))
}

/**
 * Returns the address of the photo; empty if the address is too long. Passes that are older than the limit can have
 * such an address, and must remain scannable.
 */
function photoOf(definition: Definition, scope: Scope, { publicUrl }: Links): string {
  const { photo = '' } = definition
  if (compileSizes({ photo })(bytesIn(scope)).length > 0) return ''
  const filled = fill(photo, scope)
  const isImage = filled !== '' && imageVariables(definition).includes(lonePlaceholder(photo) ?? '')
  return isImage ? `${publicUrl}/images/${filled}` : filled
}

/**
 * Returns a scan with its device and gate. For a scan by a door, the device and gate of the door replace the values in
 * the request.
 */
export function atDoor<S extends { deviceId?: string | undefined; context?: ScanContext | undefined }>(
  scan: S,
  { token }: Pick<RequestContext, 'token'>,
): S {
  if (!token.door) return scan
  return { ...scan, deviceId: token.id, context: { ...scan.context, gate: token.door.gate } }
}

interface MovementFields {
  zoneId?: string | undefined
  direction?: Direction | undefined
}

/**
 * Returns a scan with its zone and direction. By default, these are the zone and direction of the door. A scan can
 * override them, because this server can learn of a change of the door up to a second late, and an uploaded offline
 * scan can be older than the change.
 * @throws ApiError VALIDATION_ERROR for a direction without a zone
 */
export function inZone<S extends MovementFields>(scan: S, { token: { door } }: Pick<RequestContext, 'token'>): S {
  const zoneId = scan.zoneId ?? door?.zoneId ?? undefined
  if (zoneId === undefined) {
    if (scan.direction === undefined) return scan
    throw validationError([{ path: ['direction'], message: 'Requires zoneId' }])
  }
  const usual = zoneId === door?.zoneId ? door.direction : null
  return { ...scan, zoneId, direction: scan.direction ?? usual ?? 'in' }
}
