import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { bucketUnits, Count, MAX_BUCKETS, pageOf, Timestamp, text, UtcTimestamp } from './common.ts'
import { listQuery } from './list.ts'
import { Timezone } from './redemption.ts'

/** The colors of projects. */
export const ProjectColor = z.enum(['gray', 'red', 'orange', 'yellow', 'green', 'blue', 'indigo', 'purple', 'pink'])

/** A project: passes and templates that belong together, such as those of one event. */
export const Project = z.strictObject({
  id: Uuid,
  name: z.string(),
  description: z.string(),
  color: ProjectColor,
  appleIdentityId: Uuid.nullable().describe('Who signs new passes for Apple; null is the default of the workspace.'),
  googleIdentityId: Uuid.nullable().describe('Whose new passes are at Google; null is the default of the workspace.'),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Project = z.output<typeof Project>

/** The counts of a project. */
const ProjectStats = z.strictObject({
  projectId: Uuid,
  templateCount: Count,
  livePassCount: Count,
  totalPassCount: Count,
  googleInstallCount: Count,
  passesAddedLast7Days: Count,
})

const ofBoth = z.strictObject({ apple: Count, google: Count })

/** The activity of a project in each bucket of time. */
export const ProjectFigures = z.strictObject({
  items: z
    .array(
      z.strictObject({
        at: UtcTimestamp.meta({
          description: 'When it begins by the clocks of the zone; the first may begin before from.',
        }),
        issued: Count,
        voided: Count,
        expired: Count,
        updated: Count,
        notified: Count.meta({ description: 'Notifications that reached a platform.' }),
        opened: z.strictObject({ apple: Count, google: Count, other: Count }).meta({
          description: 'Hosted links, by what the visitor was given; programs that only look are not among them.',
        }),
        installed: ofBoth.meta({ description: 'Passes that came into their first wallet of a platform.' }),
        removed: ofBoth.meta({ description: 'Passes that left the last one.' }),
        pushed: Count.meta({ description: 'Pushes to devices of Apple, one for each pass that changed.' }),
        fetched: Count.meta({ description: 'Newer versions that devices of Apple fetched.' }),
        scans: z
          .record(z.string(), Count)
          .meta({ description: 'Attempts by their reason code, such as valid or already_scanned.' }),
      }),
    )
    .max(MAX_BUCKETS),
})
export type ProjectFigures = z.output<typeof ProjectFigures>

const ById = z.strictObject({ id: Uuid })

const name = text(1, 255)
const description = text(0, 2000)

/** Routes of projects. */
export const projects = {
  list: route({
    method: 'GET',
    path: '/v1/projects',
    scope: 'templates:read',
    summary: 'List projects',
    query: listQuery(['createdAt', 'updatedAt', 'name'], {}),
    responses: { 200: pageOf(Project) },
  }),
  create: route({
    method: 'POST',
    path: '/v1/projects',
    scope: 'templates:write',
    summary: 'Create a project',
    body: z.strictObject({
      name,
      description: description.default(''),
      color: ProjectColor.default('gray'),
      unique: z
        .boolean()
        .default(false)
        .describe('Refuse with 409 where the workspace has a project of this name; details.projectId is its id.'),
    }),
    responses: { 201: Project },
    errors: ['CONFLICT'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/projects/{id}',
    scope: 'templates:read',
    summary: 'Read a project',
    params: ById,
    responses: { 200: Project },
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/projects/{id}',
    scope: 'templates:write',
    summary: 'Change a project',
    description:
      'At least one field must be given. Another identity (GET /v1/identities; null: the default) concerns passes that are made ' +
      'from then on: each pass belongs to the identities that it was made under for good.',
    params: ById,
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
  delete: route({
    method: 'DELETE',
    path: '/v1/projects/{id}',
    scope: 'templates:write',
    summary: 'Delete a project',
    description:
      'Its templates and passes live on without a project; broadcasts that are still scheduled are cancelled.',
    params: ById,
    responses: { 204: null },
  }),
  stats: route({
    method: 'GET',
    path: '/v1/projects/{id}/stats',
    scope: 'templates:read',
    summary: 'Count what a project holds',
    params: ById,
    responses: { 200: ProjectStats },
  }),
  figures: route({
    method: 'GET',
    path: '/v1/projects/{id}/figures',
    scope: 'passes:read',
    summary: 'Count what happened in a project over time',
    description:
      `Of each hour, day, week (from Monday) or month of the zone, at most ${MAX_BUCKETS} of them, those in which nothing happened ` +
      'too: from `from` on and before `to`. Counted by hours of UTC, each as a whole where it begins, and so are those that `from` and ' +
      '`to` lie in: in zones that differ from UTC by a part of an hour, days are that part off.',
    params: ById,
    query: z.strictObject({
      from: Timestamp,
      to: Timestamp.optional().meta({ description: 'Now by default.' }),
      by: z.enum(bucketUnits).default('day'),
      zone: Timezone.default('UTC'),
    }),
    responses: { 200: ProjectFigures },
  }),
}
