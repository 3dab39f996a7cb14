import { z } from 'zod'
import { ErrorCode } from '../errors.ts'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { Count, PositiveInt, text, UtcTimestamp } from './common.ts'
import { RedemptionPolicy } from './redemption.ts'

export const PassStatus = z.enum(['QUEUED', 'ISSUING', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED'])
export type PassStatus = z.output<typeof PassStatus>

/** A JSON object, kept as it came: zod's own record would drop a key named __proto__. */
const Variables = z
  .custom<Record<string, unknown>>(
    (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
    'Must be an object of variables',
  )
  .meta({ type: 'object', additionalProperties: true })

const HostedLink = z.url().nullable()

/** Spec 2.1. */
export const Pass = z.strictObject({
  id: Uuid,
  externalPassId: z.string(),
  label: z.string(),
  status: PassStatus,
  version: PositiveInt.meta({ deprecated: true, description: 'Internal change counter; use revision.' }),
  templateVersionId: Uuid.nullable(),
  templateId: Uuid.nullable(),
  projectId: Uuid.nullable(),
  variables: Variables,
  redemption: RedemptionPolicy.nullable(),
  expiresAt: UtcTimestamp.nullable(),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
  revision: PositiveInt,
  templateVersion: PositiveInt.nullable(),
  latestTemplateVersion: PositiveInt.nullable(),
  hostedLinks: z.strictObject({ apple: HostedLink, google: HostedLink, smart: HostedLink }),
})
export type Pass = z.output<typeof Pass>

export const PassCreate = z.strictObject({
  externalPassId: text(1, 255),
  label: text(1, 255),
  templateId: Uuid,
  variables: Variables.default({}),
})
export type PassCreate = z.output<typeof PassCreate>

/** An item of a batch is parsed by itself as a PassCreate, so that a broken one fails alone. */
const BatchItem = z.unknown().meta({ itemSchema: 'PassCreate' }) as z.ZodType<unknown, z.input<typeof PassCreate>>

/** One result of a batch (spec 2.10). */
export const BatchResult = z.strictObject({
  externalPassId: z.string(),
  success: z.boolean(),
  pass: Pass.optional(),
  error: z
    .strictObject({ code: ErrorCode, message: z.string(), details: z.record(z.string(), z.unknown()).optional() })
    .optional(),
})
export type BatchResult = z.output<typeof BatchResult>

const ById = z.strictObject({ id: Uuid })

const createErrors = ['TEMPLATE_NOT_FOUND', 'DUPLICATE_PASS', 'SYSTEM_VARIABLE_READONLY'] as const

export const passes = {
  create: route({
    method: 'POST',
    path: '/v1/passes',
    scope: 'passes:write',
    summary: 'Create a pass',
    idempotent: true,
    description: 'Idempotent on externalPassId: 200 with the existing pass, unchanged, when it is there already.',
    body: PassCreate,
    responses: { 200: Pass, 201: Pass },
    errors: createErrors,
  }),
  createBatch: route({
    method: 'POST',
    path: '/v1/passes/batch',
    scope: 'passes:write',
    summary: 'Create up to 100 passes',
    description:
      'Each item follows the rules of single create. What is wrong with an item stands in its result; the results keep ' +
      'the order of the request.',
    idempotent: true,
    body: z.strictObject({ passes: z.array(BatchItem).min(1).max(100) }),
    responses: {
      200: z.strictObject({
        totalRequested: Count,
        totalCreated: Count,
        totalFailed: Count,
        results: z.array(BatchResult),
      }),
    },
  }),
  get: route({
    method: 'GET',
    path: '/v1/passes/{id}',
    scope: 'passes:read',
    summary: 'Read a pass',
    params: ById,
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND'],
  }),
}
