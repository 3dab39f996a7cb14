import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { Count, route, Timestamp, text, UtcTimestamp } from './schemas/common.ts'
import { translatable } from './schemas/language-tags.ts'

/** The last part of the address of a join page. It must be unique on the server: the address has no workspace. */
const JoinSlug = z
  .string()
  .regex(/^[a-z0-9-]{3,64}$/, 'Must be 3 to 64 lowercase letters, digits, or hyphens, such as coffee-card')
  .describe('The last part of the address of the page. Unique on the server.')

/** The maximum length of the source of a visit, in UTF-16 code units. */
export const MAX_SOURCE = 64

/** A field of the form on a join page. Its value becomes a variable of the pass. */
export const JoinField = z.strictObject({
  variable: z
    .string()
    .min(1)
    .max(64)
    .describe('A variable of the published version. Its type, pattern, and length are those of the variables schema.'),
  label: translatable(text(1, 255)).optional().describe('The label of the field. Default: the label of the variable.'),
  required: z
    .boolean()
    .optional()
    .describe('Whether visitors must fill in the field. A variable that a pass requires is always required.'),
})
export type JoinField = z.output<typeof JoinField>

/** The consent that visitors must give. Their passes store the version of the consent text. */
export const JoinConsent = z.strictObject({
  text: translatable(text(1, 5000)).describe('The text next to the checkbox.'),
  version: text(1, 64).describe('The version of the text. If a visitor ticks the box, the pass stores this version.'),
  required: z.boolean().describe('Whether visitors must tick the box.'),
})
export type JoinConsent = z.output<typeof JoinConsent>

const settings = {
  slug: JoinSlug,
  title: translatable(text(1, 255)),
  intro: translatable(text(0, 2000)),
  fields: z.array(JoinField).min(1).max(20),
  labelFrom: z
    .array(text(1, 255))
    .min(1)
    .max(5)
    .describe(
      'The label of the pass, with placeholders for fields, such as {{first}} {{last}}. The first text whose ' +
        'fields are all filled in is used. If no such text exists, the label is the name of the template.',
    ),
  consent: JoinConsent,
  identity: z
    .string()
    .min(1)
    .max(64)
    .describe(
      'The variable of a required field with the format email. Each email address gets one pass, regardless of case, ' +
        'and the server sends the link to the address instead of showing it. Requires serve --smtp-url.',
    ),
  open: z.boolean().describe('Whether the page accepts visitors.'),
  limit: z.int().min(1).max(10_000_000).describe('The maximum number of passes that the page creates.'),
  source: z.boolean().describe('Whether passes store the source of the visit, which is ?source= in the address.'),
}

/** The request body that creates or replaces a join page. Its texts can have translations. */
export const JoinPageWrite = z.strictObject({
  ...settings,
  intro: settings.intro.default(''),
  identity: settings.identity.optional(),
  open: settings.open.default(true),
  closesAt: Timestamp.optional().describe('The time from which the page is closed.'),
  limit: settings.limit.optional(),
  source: settings.source.default(true),
})
export type JoinPageWrite = z.output<typeof JoinPageWrite>

/** A join page: a public page on which each visitor creates a pass of a template. */
export const JoinPage = z.strictObject({
  templateId: Uuid,
  ...settings,
  identity: settings.identity.nullable(),
  closesAt: UtcTimestamp.nullable(),
  limit: Count.nullable(),
  url: z.url().describe('The address of the page.'),
  joined: Count.describe('The number of passes that the page created.'),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type JoinPage = z.output<typeof JoinPage>

/** Routes of join pages. */
export const joinPages = {
  get: route('GET', '/v1/templates/{id}/join', {
    scope: 'templates:read',
    summary: 'Read the join page of a template',
    responses: { 200: JoinPage },
    errors: ['TEMPLATE_NOT_FOUND', 'NOT_FOUND'],
  }),
  set: route('PUT', '/v1/templates/{id}/join', {
    scope: 'templates:write',
    summary: 'Create or replace the join page of a template',
    description:
      'The page is public at `{publicUrl}/join/<slug>`, works without scripts, and is in the language of the ' +
      'visitor. A submission creates a pass of the published version. The externalPassId of the pass is ' +
      '`join:<slug>:` and a random text. The response is 409 if another template uses the slug, if no version is ' +
      'published, or if `identity` is set and the server cannot send email. If the page is replaced, passes of the ' +
      'previous page still count toward the limit.',
    idempotent: true,
    body: JoinPageWrite,
    responses: { 200: JoinPage },
    errors: ['TEMPLATE_NOT_FOUND', 'CONFLICT'],
  }),
  delete: route('DELETE', '/v1/templates/{id}/join', {
    scope: 'templates:write',
    summary: 'Delete the join page of a template',
    description: 'Passes that the page created are not affected. The slug is free again.',
    responses: { 204: null },
    errors: ['TEMPLATE_NOT_FOUND', 'NOT_FOUND'],
  }),
}
