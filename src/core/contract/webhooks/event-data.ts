import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { Pass } from '../passes.ts'
import { Zone } from '../scans/zones.ts'
import { Count, ErrorCode } from '../schemas/common.ts'
import { Platform } from '../schemas/platform.ts'
import { ScanItem } from '../schemas/scan-shapes.ts'

const changedFields = [
  'label',
  'variables',
  'redemption',
  'expiresAt',
  'templateVersionId',
  'scanCode',
  'groupKey',
  'balances',
  'manual_requeue',
] as const

/** The name of a field that an update changed. /openapi.json allows any text, so that later versions can add names. */
const ChangedField = z.enum(changedFields).meta({ describedAs: { type: 'string', examples: changedFields } })
/** The name of a top-level pass field that an update changed. */
export type ChangedField = z.output<typeof ChangedField>

const Identifiers = Pass.pick({
  id: true,
  externalPassId: true,
  templateId: true,
  templateVersionId: true,
  projectId: true,
})

/**
 * The data of `pass.installed` (the first wallet of a platform added the pass) and `pass.removed` (the last wallet
 * removed it).
 */
const Holding = Pass.pick({ id: true, externalPassId: true, projectId: true }).extend({
  platform: Platform,
  devices: Count.describe(
    'The number of devices that now hold the pass, or of users if the platform reports no devices. 0 in pass.removed.',
  ),
})

/** The data of each event: the state after the event. */
export const eventData = {
  'pass.issued': Identifiers.extend({
    ...Pass.pick({ variables: true, redemption: true, expiresAt: true, createdAt: true }).shape,
    groupKey: z.string().optional().describe('Set if the pass is in a group.'),
  }),
  'pass.updated': Identifiers.extend({
    changedFields: z
      .array(ChangedField)
      .describe(
        'The top-level fields that the update changed. Ignore unknown entries. `redemption` and `expiresAt` are ' +
          'listed if the update contained variables, even if they did not change.',
      ),
  }),
  'pass.voided': Pass.pick({ id: true, externalPassId: true }).extend({
    reason: z.string().nullable().describe('The reason in the request, or null if none was given.'),
  }),
  'pass.failed': Identifiers.extend({ error: z.strictObject({ code: ErrorCode, message: z.string() }) }),
  'pass.scanned': ScanItem,
  'pass.installed': Holding,
  'pass.removed': Holding,
  'zone.capacity': Zone.pick({ id: true, projectId: true, name: true, inside: true }).extend({
    capacity: Count,
    percent: z
      .literal([80, 100])
      .describe('The threshold that the number of people inside has reached, in percent of the capacity.'),
  }),
  'webhook.test': z.strictObject({ webhookId: Uuid.describe('The ID of the tested webhook.') }),
}

/** The data of each event by its type. */
export type EventData = { [T in keyof typeof eventData]: z.output<(typeof eventData)[T]> }

/** The type of an event. */
export type EventType = keyof EventData
