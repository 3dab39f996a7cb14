import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { bucketUnits, Count, MAX_BUCKETS, pageOf, route, Timestamp, text, UtcTimestamp } from './schemas/common.ts'
import { listQuery, param } from './schemas/list-parameters.ts'
import { byPlatform } from './schemas/platform.ts'
import { Timezone } from './schemas/redemption.ts'

/** The colors of projects. */
export const ProjectColor = z.enum(['gray', 'red', 'orange', 'yellow', 'green', 'blue', 'indigo', 'purple', 'pink'])
export type ProjectColor = z.output<typeof ProjectColor>

/** A project: templates and passes that belong together, such as the tickets of one event. */
export const Project = z.strictObject({
  id: Uuid,
  name: z.string(),
  description: z.string(),
  color: ProjectColor,
  appleIdentityId: Uuid.nullable().describe(
    'The ID of the Apple identity of new passes. Null means the default of the workspace.',
  ),
  googleIdentityId: Uuid.nullable().describe(
    'The ID of the Google identity of new passes. Null means the default of the workspace.',
  ),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Project = z.output<typeof Project>

/** The counts of a project. */
export const ProjectStats = z.strictObject({
  projectId: Uuid,
  templateCount: Count,
  livePassCount: Count,
  totalPassCount: Count,
  googleInstallCount: Count,
  passesAddedLast7Days: Count,
})
export type ProjectStats = z.output<typeof ProjectStats>

const ofEach = z.strictObject(byPlatform(() => Count))

/** The activity of a project per hour, day, week, or month. */
export const ProjectFigures = z.strictObject({
  items: z
    .array(
      z.strictObject({
        at: UtcTimestamp.describe(
          'The start of the hour, day, week, or month in the zone. The first item can start before `from`.',
        ),
        issued: Count,
        voided: Count,
        expired: Count,
        updated: Count,
        notified: Count.describe('Notifications that reached a platform.'),
        opened: z
          .strictObject({ ...byPlatform(() => Count), other: Count })
          .describe(
            'Opened hosted links, by the wallet that the page offered. `other` counts pages that offered both. Link ' +
              'previews and crawlers do not count.',
          ),
        installed: ofEach.describe('Passes added to their first wallet of a platform.'),
        removed: ofEach.describe('Passes removed from their last wallet of a platform.'),
        pushed: Count.describe('Pushes to Apple devices, one for each changed pass.'),
        fetched: Count.describe('Newer versions that Apple devices fetched.'),
        joined: z
          .record(z.string(), z.strictObject({ seen: Count, submitted: Count, installed: Count }))
          .optional()
          .describe(
            'Visits of join pages, created passes, and passes that a wallet held for the first time, by the source of ' +
              'the visit. The key of visits without a source is empty. Set if the project has a join page.',
          ),
        scans: z.record(z.string(), Count).describe('Attempts by their reason code, such as valid or already_scanned.'),
      }),
    )
    .max(MAX_BUCKETS),
})
export type ProjectFigures = z.output<typeof ProjectFigures>

const name = text(1, 255)
const description = text(0, 2000)

/** Routes of projects. */
export const projects = {
  list: route('GET', '/v1/projects', {
    scope: 'templates:read',
    summary: 'List projects',
    query: listQuery(['createdAt', 'updatedAt', 'name'], {}),
    responses: { 200: pageOf(Project) },
  }),
  create: route('POST', '/v1/projects', {
    scope: 'templates:write',
    summary: 'Create a project',
    body: z.strictObject({
      name,
      description: description.default(''),
      color: ProjectColor.default('gray'),
      unique: z
        .boolean()
        .default(false)
        .describe(
          'Whether to reject the request with 409 if the workspace has a project with this name. details.projectId ' +
            'is the ID of the existing project.',
        ),
    }),
    responses: { 201: Project },
    errors: ['CONFLICT'],
  }),
  get: route('GET', '/v1/projects/{id}', {
    scope: 'templates:read',
    summary: 'Read a project',
    responses: { 200: Project },
  }),
  update: route('PATCH', '/v1/projects/{id}', {
    scope: 'templates:write',
    summary: 'Update a project',
    description:
      'Requires at least one field. A new identity (see GET /v1/identities) applies to passes that are created ' +
      'after the change. Null selects the default identity of the workspace. Existing passes keep their identities ' +
      'permanently.',
    body: z.strictObject({
      name: name.optional(),
      description: description.optional(),
      color: ProjectColor.optional(),
      appleIdentityId: Uuid.nullable().optional(),
      googleIdentityId: Uuid.nullable().optional(),
    }),
    responses: { 200: Project },
    errors: ['MISSING_REQUIRED_FIELD'],
  }),
  delete: route('DELETE', '/v1/projects/{id}', {
    scope: 'templates:write',
    summary: 'Delete a project',
    description:
      'The templates and passes of the project remain, without a project. Scheduled broadcasts are canceled.',
    responses: { 204: null },
  }),
  stats: route('GET', '/v1/projects/{id}/stats', {
    scope: 'templates:read',
    summary: 'Count the templates and passes of a project',
    responses: { 200: ProjectStats },
  }),
  figures: route('GET', '/v1/projects/{id}/figures', {
    scope: 'passes:read',
    summary: 'Count the activity of a project over time',
    description:
      'Returns an item for each hour, day, week (from Monday), or month in the zone, from `from` (inclusive) to ' +
      `\`to\` (exclusive), even if all counts are 0. The response has at most ${MAX_BUCKETS} items. The server ` +
      'stores counts per hour in UTC, and an hour counts in the item that contains the start of the hour. The hours ' +
      'that contain `from` and `to` count completely. In zones whose offset is not a whole number of hours, days ' +
      'are shifted by the fraction of an hour.',
    query: z.strictObject({
      from: Timestamp.meta({ description: 'The start of the period (inclusive).', example: '2027-05-20T00:00:00Z' }),
      to: param(Timestamp, 'The end of the period (exclusive). Default: now.', '2027-05-27T00:00:00Z'),
      by: z
        .enum(bucketUnits)
        .default('day')
        .meta({ description: 'The length of the period of each item.', example: 'hour' }),
      zone: Timezone.default('UTC').meta({
        description: 'The IANA time zone in which days, weeks, and months start.',
        example: 'Europe/Lisbon',
      }),
    }),
    responses: { 200: ProjectFigures },
  }),
}
