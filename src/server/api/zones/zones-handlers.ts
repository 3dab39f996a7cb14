import { type zones as contract, MAX_ZONES, Zone } from '../../../core/contract/scans/zones.ts'
import { ApiError } from '../../../core/errors.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { StoredZone } from '../../../storage/zones/zones-repository.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { requireChange } from '../require-change.ts'
import { noZone } from '../scans/zone-scans.ts'
import { holdProject } from '../token-projects.ts'
import { writeCapacityAlerts } from './capacity-alerts.ts'
import { readOccupancy } from './read-occupancy.ts'

export const zones: Handlers<typeof contract> = {
  create: ({ body: { projectId, ...fields } }, context) => {
    const { store, workspaceId, now } = context
    return store.transaction(async (tx) => {
      // Without this lock, concurrent requests could exceed the maximum number of zones.
      await holdProject(tx, workspaceId, projectId)
      const used = await tx.zones.count(workspaceId, projectId)
      if (used >= MAX_ZONES) {
        const message = `The project has ${MAX_ZONES} zones: delete one first.`
        throw new ApiError('CONFLICT', { message, details: { limit: 'zones', allowed: MAX_ZONES, used } })
      }
      const zone = await tx.zones.insert(workspaceId, projectId, fields, now)
      await audit(tx, context, 'zone.create', zone.id)
      return toZone(zone)
    })
  },

  list: async ({ query }, { store, workspaceId }) => toPage(await store.zones.list(workspaceId, query), toZone),

  get: async ({ params: { id } }, { store, workspaceId }) =>
    toZone((await store.zones.find(workspaceId, id)) ?? missing(id)),

  update: ({ params: { id }, body }, context) => {
    requireChange(body, 'Give at least one of name, capacity, and whenFull.')
    return context.store.transaction(async (tx) => {
      const updated = (await tx.zones.update(context.workspaceId, id, body, context.now)) ?? missing(id)
      await writeAlerts(tx, updated, context)
      await audit(tx, context, 'zone.update', id)
      return toZone(updated)
    })
  },

  delete: ({ params: { id } }, context) =>
    context.store.transaction(async (tx) => {
      if (!(await tx.zones.delete(context.workspaceId, id, context.now))) missing(id)
      await audit(tx, context, 'zone.delete', id)
    }),

  reset: ({ params: { id }, body }, context) =>
    context.store.transaction(async (tx) => {
      const zone = (await tx.zones.findForUpdate(context.workspaceId, id)) ?? missing(id)
      const after = await tx.zones.reset(context.workspaceId, zone, body, context.now)
      if (!after) return toZone(zone)
      await writeAlerts(tx, after, context)
      await audit(tx, context, 'zone.reset', id)
      return toZone(after)
    }),

  adjust: ({ params: { id }, body }, context) =>
    context.store.transaction(async (tx) => {
      const { workspaceId, now } = context
      const zone = (await tx.zones.findForUpdate(workspaceId, id)) ?? missing(id)
      if (await tx.zones.hasAdjustment(workspaceId, id, body.externalRef)) return toZone(zone)
      const { delta } = body
      if (delta < 0 && zone.inside + delta < 0) {
        const message = `The number of people inside is ${zone.inside}, so ${-delta} cannot leave.`
        throw new ApiError('CONFLICT', { message, details: { inside: zone.inside, delta } })
      }
      const after = (await tx.zones.adjust(workspaceId, zone, body, now))!
      await writeAlerts(tx, after, context)
      await audit(tx, context, 'zone.adjust', id)
      return toZone(after)
    }),

  occupancy: async ({ params: { id }, query }, context) =>
    readOccupancy((await context.store.zones.find(context.workspaceId, id)) ?? missing(id), query, context),
}

function missing(zoneId: string): never {
  throw noZone(zoneId)
}

function writeAlerts(tx: Repositories, zone: StoredZone, context: RequestContext): Promise<void> {
  const { workspaceId, correlationId, now } = context
  return writeCapacityAlerts(tx, workspaceId, zone, [{ inside: zone.inside, correlationId, at: now }])
}

export function toZone(zone: StoredZone): Zone {
  return toBody(Zone, zone)
}
