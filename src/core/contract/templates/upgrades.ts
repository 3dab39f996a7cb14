import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { Count, ErrorCode, PositiveInt, pageOf, route, UtcTimestamp } from '../schemas/common.ts'
import { pageQuery } from '../schemas/list-parameters.ts'
import { PassFilter } from '../schemas/pass-filter.ts'

/** The status of an upgrade: PENDING until every pass is processed, then DONE. CANCELLED if it was stopped earlier. */
export const UpgradeStatus = z.enum(['PENDING', 'DONE', 'CANCELLED'])
export type UpgradeStatus = z.output<typeof UpgradeStatus>

/** The maximum number of failed passes that an upgrade lists. Further failures are only counted. */
export const MAX_FAILURES = 100

/** The request body that creates an upgrade. */
export const UpgradeCreate = z.strictObject({
  to: z
    .union([PositiveInt, z.literal('latest')])
    .describe('The number of a published version. `latest` is resolved when the upgrade is created.'),
  filter: PassFilter.optional().describe('Upgrades only the passes of the template that match.'),
  limit: z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .describe('The maximum number of matching passes, in order of creation. Passes that stay unchanged also count.'),
  dryRun: z.boolean().default(false).describe('Whether to only check the passes, and change none.'),
})
export type UpgradeCreate = z.output<typeof UpgradeCreate>

/** An upgrade of the passes of a template to a published version, with its progress. */
export const Upgrade = z.strictObject({
  id: Uuid,
  templateId: Uuid,
  to: PositiveInt.describe('The number of the version.'),
  filter: PassFilter.nullable(),
  limit: PositiveInt.nullable(),
  dryRun: z.boolean(),
  status: UpgradeStatus,
  matched: Count.describe(
    'The number of passes that match, at most `limit`. It is 0 until the upgrade starts and counts the passes. When ' +
      'the upgrade is DONE, it is the sum of `upgraded`, `unchanged`, and `failed`.',
  ),
  upgraded: Count.describe('The number of passes that moved to the version. In a dry run, the number that would move.'),
  unchanged: Count.describe('The number of passes that already had this version or a newer one.'),
  failed: Count.describe('The number of passes that cannot be upgraded, and did not change.'),
  failures: z
    .array(z.strictObject({ passId: Uuid, externalPassId: z.string(), code: ErrorCode, message: z.string() }))
    .describe(`The first failures, in order of creation of the passes, at most ${MAX_FAILURES}.`),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Upgrade = z.output<typeof Upgrade>

/** Routes of upgrades. */
export const upgrades = {
  create: route('POST', '/v1/templates/{id}/upgrades', {
    scope: 'passes:write',
    summary: 'Upgrade the passes of a template to a published version',
    description:
      'Starts an upgrade in the background. It processes the passes of the template in order of creation, except ' +
      'VOID passes. Each upgraded pass changes as with PATCH /v1/passes/{id} and templateVersion. A pass whose ' +
      'variables are not valid for the version keeps its version, and counts as failed. A token that is restricted ' +
      'to projects upgrades only passes of these projects. For a canary, upgrade with limit 100, and then without a ' +
      'limit. A template can have one pending upgrade, in addition to dry runs, and a workspace 10 pending upgrades ' +
      'and dry runs. Beyond these limits, the response is 409.',
    body: UpgradeCreate,
    responses: { 202: Upgrade },
    errors: ['TEMPLATE_NOT_FOUND', 'CONFLICT'],
  }),
  list: route('GET', '/v1/templates/{id}/upgrades', {
    scope: 'passes:read',
    summary: 'List the upgrades of a template, newest first',
    description:
      'A token that is restricted to projects sees the upgrades that tokens of these projects created. Upgrades are ' +
      'deleted 90 days after they ended.',
    query: pageQuery({}),
    responses: { 200: pageOf(Upgrade) },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  get: route('GET', '/v1/templates/{id}/upgrades/{upgradeId}', {
    scope: 'passes:read',
    summary: 'Read an upgrade with its progress',
    responses: { 200: Upgrade },
    errors: ['TEMPLATE_NOT_FOUND', 'NOT_FOUND'],
  }),
  cancel: route('DELETE', '/v1/templates/{id}/upgrades/{upgradeId}', {
    scope: 'passes:write',
    summary: 'Stop an upgrade',
    description:
      'Upgraded passes keep the new version. The record remains, with the status CANCELLED. If the upgrade has ' +
      'already ended, nothing changes.',
    responses: { 204: null },
    errors: ['TEMPLATE_NOT_FOUND', 'NOT_FOUND'],
  }),
}
