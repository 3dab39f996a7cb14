import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { LARGE_BODY_BYTES, route } from '../route.ts'
import { Count, ErrorCode, PassStatus, PositiveInt, pageOf, text, UtcTimestamp } from './common.ts'
import { booleanParam } from './list.ts'
import { checkImport, importedFields } from './pass-import.ts'
import { Include, PassListQuery } from './pass-list-query.ts'
import { PassPreview, PassPreviewQuery } from './pass-preview.ts'
import { RedemptionPolicy } from './redemption.ts'
import { PassWallets } from './wallets.ts'

/** A JSON object, kept as received. Zod's own record would drop a key named __proto__. */
const Variables = z
  .custom<Record<string, unknown>>(
    (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
    'Must be an object of variables',
  )
  .meta({ type: 'object', additionalProperties: true })

const HostedLink = z.url().nullable()

/** A pass in responses. Times are UTC. */
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
  groupKey: z.string().nullable().meta({
    description: 'What passes of a project have in common that belong together, such as the tickets of an order.',
  }),
  hostedLinks: z.strictObject({
    apple: HostedLink,
    google: HostedLink,
    smart: HostedLink,
    group: HostedLink.meta({
      description: 'A page with all passes of the group, revoked with the links of any of them.',
    }),
  }),
  wallets: PassWallets.optional().meta({ description: 'Where the request says include=wallets.' }),
})
export type Pass = z.output<typeof Pass>

const GroupKey = text(1, 255).nullable()

/** The request body that creates a pass. */
export const PassCreate = z.strictObject({
  externalPassId: text(1, 255),
  label: text(1, 255),
  templateId: Uuid,
  variables: Variables.default({}),
  groupKey: GroupKey.optional().meta({ description: 'Goes before what the template says; null is no group.' }),
})
export type PassCreate = z.output<typeof PassCreate>

/** Each item of a batch is parsed separately as a PassCreate, so that an invalid item does not affect the others. */
const BatchItem = z.unknown().meta({ itemSchema: 'PassCreate' }) as z.ZodType<unknown, z.input<typeof PassCreate>>

/** A pass that another provider issued. The request names its template. */
export const PassImport = PassCreate.omit({ templateId: true }).extend(importedFields).superRefine(checkImport)
export type PassImport = z.output<typeof PassImport>

/** An item of a batch import. */
const ImportItem = z.unknown().meta({ itemSchema: 'PassImport' }) as z.ZodType<unknown, z.input<typeof PassImport>>

/** One result of a batch. */
export const BatchResult = z.strictObject({
  externalPassId: z.string(),
  success: z.boolean(),
  created: z.boolean().optional().meta({
    description: 'With success: true where this item made the pass, false where it was there already and is unchanged.',
  }),
  pass: Pass.optional(),
  error: z
    .strictObject({ code: ErrorCode, message: z.string(), details: z.record(z.string(), z.unknown()).optional() })
    .optional(),
})
export type BatchResult = z.output<typeof BatchResult>

const BatchResults = z.strictObject({
  totalRequested: Count,
  totalCreated: Count,
  totalFailed: Count,
  results: z.array(BatchResult),
})

/** The revisions in If-Match: "7", 7, a list of them, or *. */
const IfMatch = z
  .string()
  .regex(
    /^\s*(?:\*|(?:"\d{1,16}"|\d{1,16})(?:\s*,\s*(?:"\d{1,16}"|\d{1,16}))*)\s*$/,
    'Must be "<revision>", a list of them, or *',
  )
  .transform((text): '*' | number[] =>
    text.trim() === '*' ? '*' : text.split(',').map((tag) => Number(tag.replaceAll(/["\s]/g, ''))),
  )
  .refine(
    (revisions) => revisions === '*' || revisions.every(Number.isSafeInteger),
    `Must be at most ${Number.MAX_SAFE_INTEGER}`,
  )

/** The fields that a PATCH can change. Omitted fields keep their values. */
export const PassUpdate = z.strictObject({
  label: text(1, 255).optional(),
  variables: Variables.optional(),
  templateVersion: z.union([PositiveInt, z.literal('latest')]).optional(),
  groupKey: GroupKey.optional().meta({
    description:
      'Null takes the pass out of its group. Left out, a group that the template made follows the variables.',
  }),
  notify: z
    .boolean()
    .optional()
    .meta({
      description:
        'True makes Android phones ring for fields with a changeMessage, which iPhones announce by themselves: as a ' +
        'notification to google, within its limit of 3 in 24 hours. Beyond that the pass changes silently there.',
    }),
})
export type PassUpdate = z.output<typeof PassUpdate>

/** The request body that transfers a pass to another holder. */
export const PassTransfer = z.strictObject({
  label: text(1, 255).meta({ description: 'The name of the new holder.' }),
  variables: Variables.optional().meta({ description: 'Merged over the stored ones, as in an update.' }),
})
export type PassTransfer = z.output<typeof PassTransfer>

const UpdatedPass = Pass.extend({
  notified: z.boolean().optional().meta({
    description:
      'Where the request says notify: whether Android phones are made to ring; in a dry run, whether they would be.',
  }),
})

const ById = z.strictObject({ id: Uuid })

const createErrors = ['TEMPLATE_NOT_FOUND', 'DUPLICATE_PASS', 'SYSTEM_VARIABLE_READONLY', 'CONFLICT'] as const

/** Routes of passes. */
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
      'the order of the request. Each success says whether the item made its pass; totalCreated counts all of them, those ' +
      'that were there already included.',
    idempotent: true,
    maxBodyBytes: LARGE_BODY_BYTES,
    body: z.strictObject({ passes: z.array(BatchItem).min(1).max(100) }),
    responses: { 200: BatchResults },
  }),
  import: route({
    method: 'POST',
    path: '/v1/passes/import',
    scope: 'passes:write',
    role: 'owner',
    summary: 'Take over up to 100 passes of another provider',
    description:
      'Wallets that hold them go on as they are, and receive the next update. Each item stands for itself, and fires no event. ' +
      'The same item again changes nothing; other content is CONFLICT, a name that another pass has DUPLICATE_PASS. dryRun ' +
      'says what each item would come to, without a pass.',
    idempotent: true,
    query: z.strictObject({ dryRun: booleanParam.default(false) }),
    maxBodyBytes: LARGE_BODY_BYTES,
    body: z.strictObject({
      templateId: Uuid,
      identityId: Uuid.optional().meta({
        description: 'Of Apple or Google; without it, and of the other platform, that of new passes.',
      }),
      passes: z.array(ImportItem).min(1).max(100),
    }),
    responses: { 200: BatchResults },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  get: route({
    method: 'GET',
    path: '/v1/passes/{id}',
    scope: 'passes:read',
    summary: 'Read a pass',
    params: ById,
    query: z.strictObject({ include: Include }),
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND'],
  }),
  list: route({
    method: 'GET',
    path: '/v1/passes',
    scope: 'passes:read',
    summary: 'List passes',
    description:
      'Repeating a parameter ORs its values; different parameters must all hold. A parameter takes at most 20 values; ' +
      'search, variable, and label with labelMatch=contains at most 5. projectId takes the word null. revision and ' +
      'templateVersion take a number, alone or after gte: or lte:. installed asks whether a wallet holds the pass, platform in ' +
      'which wallets that is looked for; stale whether one of these lacks its newest version.',
    query: PassListQuery,
    responses: { 200: pageOf(Pass) },
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/passes/{id}',
    scope: 'passes:write',
    summary: 'Update a pass',
    description:
      'Variables are merged over the stored ones; null removes one. A change is one new revision. With If-Match nothing ' +
      'is written when the pass changed since; with dryRun nothing is written at all, and no ETag answered. bulk says that it ' +
      'is one of many: wallets are told of it behind changes that somebody waits for.',
    params: ById,
    query: z.strictObject({ dryRun: booleanParam.default(false), bulk: booleanParam.default(false) }),
    headers: z.object({ 'if-match': IfMatch.optional() }),
    body: PassUpdate,
    responses: { 200: UpdatedPass },
    errors: [
      'PASS_NOT_FOUND',
      'PASS_ALREADY_VOIDED',
      'PRECONDITION_FAILED',
      'TEMPLATE_NOT_FOUND',
      'TEMPLATE_VERSION_NOT_NEWER',
      'SYSTEM_VARIABLE_READONLY',
      'CONFLICT',
    ],
  }),
  rotateCode: route({
    method: 'POST',
    path: '/v1/passes/{id}/rotate-code',
    scope: 'passes:write',
    summary: 'Give a pass a new scan code',
    description:
      'For a code that got into wrong hands. What was read off the pass until now is `stale_identifier` at every scan that ' +
      'is decided afterwards; wallets that hold the pass show the new one. One new revision, and one pass.updated with ' +
      'changedFields `scanCode`. Each call makes another code: send If-Match where you may send it twice. 409 where nothing ' +
      'on the pass shows the scan code, as with a barcode whose message is made of variables: change those instead.',
    params: ById,
    headers: z.object({ 'if-match': IfMatch.optional() }),
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND', 'PASS_ALREADY_VOIDED', 'PRECONDITION_FAILED', 'CONFLICT'],
  }),
  transfer: route({
    method: 'POST',
    path: '/v1/passes/{id}/transfer',
    scope: 'passes:write',
    summary: 'Give a pass to another holder',
    description:
      'As an update with a new scan code, of one revision and one pass.updated, and all links of before are revoked. What ' +
      'wallets of the former holder have becomes void: phones of Apple fetch it so within 30 days, and are then refused; the ' +
      'object at Google expires. The new holder adds the pass anew, by a fresh link. Each call is a transfer: send If-Match ' +
      'where you may send it twice. 409 where what a scanner reads would stay as it is: change the variables that the ' +
      'barcode is made of.',
    params: ById,
    headers: z.object({ 'if-match': IfMatch.optional() }),
    body: PassTransfer,
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND', 'PASS_ALREADY_VOIDED', 'PRECONDITION_FAILED', 'SYSTEM_VARIABLE_READONLY', 'CONFLICT'],
  }),
  void: route({
    method: 'POST',
    path: '/v1/passes/{id}/void',
    scope: 'passes:write',
    summary: 'Void a pass',
    params: ById,
    body: z.strictObject({ reason: text(1, 255).optional() }).default({}),
    responses: { 200: z.strictObject({ id: Uuid, status: z.literal('VOID') }) },
    errors: ['PASS_NOT_FOUND', 'PASS_ALREADY_VOIDED'],
  }),
  revokeLinks: route({
    method: 'POST',
    path: '/v1/passes/{id}/links/revoke',
    scope: 'passes:write',
    summary: 'Revoke the hosted links of a pass',
    description: 'Wallet passes that are installed already are unaffected; a later read returns fresh links.',
    params: ById,
    responses: { 200: z.strictObject({ id: Uuid, revokedAt: UtcTimestamp, revokedCount: Count }) },
    errors: ['PASS_NOT_FOUND'],
  }),
  wallets: route({
    method: 'GET',
    path: '/v1/passes/{id}/wallets',
    scope: 'passes:read',
    summary: 'Read how far each wallet that holds a pass has come',
    params: ById,
    responses: { 200: PassWallets },
    errors: ['PASS_NOT_FOUND'],
  }),
  preview: route({
    method: 'GET',
    path: '/v1/passes/{id}/preview',
    scope: 'passes:read',
    summary: 'Read what each platform would be given of a pass',
    description:
      'format=html answers a page with the pass as an iPhone and an Android phone draw it; platform=apple&format=pkpass ' +
      'the signed file, which holds every language. language=de shows what phones of that language do.',
    rendersDefinition: true,
    params: ById,
    query: PassPreviewQuery,
    files: ['application/vnd.apple.pkpass', 'text/html'],
    responses: { 200: PassPreview },
    errors: ['PASS_NOT_FOUND', 'CONFLICT', 'APPLE_SIGNING_FAILED'],
  }),
}
