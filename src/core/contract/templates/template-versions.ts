import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { PositiveInt, route, UtcTimestamp } from '../schemas/common.ts'
import { Definition } from '../schemas/definition.ts'
import { PreviewLanguage } from '../schemas/language-tags.ts'
import { exampleIds } from '../schemas/list-parameters.ts'
import { Warning, warningTable } from '../schemas/warnings.ts'
import { PlatformRejection } from '../wallets.ts'

const Stage = z.enum(['draft', 'published'])

/** A version of a template. A draft can change. A published version cannot. */
export const TemplateVersion = z.strictObject({
  id: Uuid,
  templateId: Uuid,
  version: PositiveInt,
  stage: Stage,
  createdAt: UtcTimestamp,
  publishedAt: UtcTimestamp.nullable(),
  updatedAt: UtcTimestamp,
})
export type TemplateVersion = z.output<typeof TemplateVersion>

/** A version of a template with its content, its warnings, and the last rejection by a platform. */
export const TemplateVersionDetail = TemplateVersion.extend({
  definition: Definition,
  warnings: z.array(Warning),
  lastError: PlatformRejection.nullable(),
})
export type TemplateVersionDetail = z.output<typeof TemplateVersionDetail>

/** A preview of a version: the card of a sample pass, and the content of the pass for each configured platform. */
export const TemplatePreview = z.strictObject({
  card: z.looseObject({}),
  apple: z.looseObject({}).nullable(),
  google: z.strictObject({ class: z.looseObject({}), object: z.looseObject({}) }).nullable(),
  warnings: z.array(Warning),
})
export type TemplatePreview = z.output<typeof TemplatePreview>

const WARNINGS = Object.entries(warningTable)
  .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
  .join('\n')

const errors = ['TEMPLATE_NOT_FOUND', 'CONFLICT'] as const

/** Routes of template versions. */
export const templateVersions = {
  list: route('GET', '/v1/template-versions', {
    scope: 'templates:read',
    summary: 'List the versions of a template, newest first',
    query: z.strictObject({
      templateId: Uuid.meta({ description: 'The ID of the template.', example: exampleIds.template }),
    }),
    responses: { 200: z.array(TemplateVersion) },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  get: route('GET', '/v1/template-versions/{id}', {
    scope: 'templates:read',
    summary: 'Read a version with its definition',
    rendersDefinition: true,
    responses: { 200: TemplateVersionDetail },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  update: route('PATCH', '/v1/template-versions/{id}', {
    scope: 'templates:write',
    summary: 'Replace the definition of a draft',
    rendersDefinition: true,
    body: z.strictObject({ definition: Definition }),
    responses: { 200: TemplateVersionDetail },
    errors,
  }),
  delete: route('DELETE', '/v1/template-versions/{id}', {
    scope: 'templates:write',
    summary: 'Delete a draft',
    responses: { 204: null },
    errors,
  }),
  publish: route('POST', '/v1/template-versions/{id}/publish', {
    scope: 'templates:write',
    summary: 'Publish a draft irreversibly',
    description:
      'Publishing validates the definition, also for each configured platform. Warnings report problems that ' +
      `wallets accept but holders notice. Warnings do not prevent publishing, except \`poster-without-nfc\`:\n\n${WARNINGS}\n\nTo accept a ` +
      'warning, add its code to the definition: `accept: ["contrast-low"]`.',
    rendersDefinition: true,
    responses: { 200: TemplateVersionDetail },
    errors: [...errors, 'VALIDATION_ERROR'],
  }),
  preview: route('GET', '/v1/template-versions/{id}/preview', {
    scope: 'templates:read',
    summary: 'Preview a sample pass of a version',
    description:
      'Each variable has the value of its example, or of its default if it has no example, or a sample value. ' +
      'format=html returns a page that shows the pass as an iPhone and an Android phone show it. language=de ' +
      'selects the texts that phones in this language show.',
    rendersDefinition: true,
    query: z.strictObject({
      format: z
        .enum(['json', 'html'])
        .default('json')
        .meta({ description: 'The format of the response.', example: 'html' }),
      language: PreviewLanguage.optional(),
    }),
    files: ['text/html'],
    responses: { 200: TemplatePreview },
    errors,
  }),
}
