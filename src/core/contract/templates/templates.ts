import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { PositiveInt, pageOf, route, text, UtcTimestamp } from '../schemas/common.ts'
import { Definition, PassType } from '../schemas/definition.ts'
import { exampleIds, filter, listQuery } from '../schemas/list-parameters.ts'
import { TemplateVersionDetail } from './template-versions.ts'

/** The key by which files and commands refer to a template. Unique in the workspace. */
export const TemplateKey = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/, 'Must be 1 to 64 lowercase letters, digits or hyphens, such as day-ticket')
  .describe('The key of the template in files and commands. Unique in the workspace.')

/** A template, without its versions. */
export const Template = z.strictObject({
  id: Uuid,
  key: TemplateKey.nullable(),
  projectId: Uuid.nullable(),
  name: z.string(),
  description: z.string(),
  passType: PassType,
  latestPublishedVersion: PositiveInt.nullable(),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Template = z.output<typeof Template>

/** A JSON Schema (draft 2020-12) of the variables of the published version. */
export const VariablesSchema = z.strictObject({
  schema: z.looseObject({
    type: z.literal('object'),
    properties: z.record(z.string(), z.looseObject({ type: z.literal('string'), title: z.string() })),
    required: z.array(z.string()),
  }),
})
export type VariablesSchema = z.output<typeof VariablesSchema>

const name = text(1, 255)
const description = text(0, 2000)

/** Routes of templates. */
export const templates = {
  list: route('GET', '/v1/templates', {
    scope: 'templates:read',
    summary: 'List templates',
    description: 'projectId=null matches templates without a project.',
    query: listQuery(['createdAt', 'updatedAt', 'name'], {
      projectId: filter(
        z.union([Uuid, z.literal('null')]),
        'Matches templates of this project. `null` matches templates without a project.',
        exampleIds.project,
      ),
      key: filter(TemplateKey, 'Matches the template with this key.', 'conference-ticket'),
    }),
    responses: { 200: pageOf(Template) },
  }),
  create: route('POST', '/v1/templates', {
    scope: 'templates:write',
    summary: 'Create a template',
    body: z.strictObject({
      name,
      description: description.default(''),
      passType: PassType,
      projectId: Uuid.nullable().default(null),
      key: TemplateKey.nullable().default(null),
    }),
    responses: { 201: Template },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  get: route('GET', '/v1/templates/{id}', {
    scope: 'templates:read',
    summary: 'Read a template',
    responses: { 200: Template },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  update: route('PATCH', '/v1/templates/{id}', {
    scope: 'templates:write',
    summary: 'Update a template',
    description:
      'After the first publish, the pass type cannot change. If the project changes, existing passes keep their ' +
      'project.',
    body: z.strictObject({
      name: name.optional(),
      description: description.optional(),
      passType: PassType.optional(),
      projectId: Uuid.nullable().optional(),
      key: TemplateKey.nullable().optional(),
    }),
    responses: { 200: Template },
    errors: ['TEMPLATE_NOT_FOUND', 'NOT_FOUND', 'CONFLICT', 'MISSING_REQUIRED_FIELD', 'TEMPLATE_PASS_TYPE_LOCKED'],
  }),
  delete: route('DELETE', '/v1/templates/{id}', {
    scope: 'templates:write',
    summary: 'Delete a template',
    description: 'Issued passes are not affected.',
    responses: { 204: null },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  createVersion: route('POST', '/v1/templates/{id}/versions', {
    scope: 'templates:write',
    summary: 'Create a draft version',
    description: 'Without a definition, the draft is a copy of the newest version.',
    rendersDefinition: true,
    body: z
      .strictObject({
        definition: Definition.optional(),
        after: z
          .int()
          .min(0)
          .optional()
          .describe(
            'The expected number of the newest version, or 0 if the template should have no version. If the newest ' +
              'version has another number, the response is 409.',
          ),
      })
      .default({}),
    responses: { 201: TemplateVersionDetail },
    errors: ['TEMPLATE_NOT_FOUND', 'MISSING_REQUIRED_FIELD', 'CONFLICT'],
  }),
  variablesSchema: route('GET', '/v1/templates/{id}/published-version/variables-schema', {
    scope: 'templates:read',
    summary: 'Read the JSON Schema of the variables of the published version',
    responses: { 200: VariablesSchema },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
}
