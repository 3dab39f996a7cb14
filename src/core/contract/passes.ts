import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { LARGE_BODY_BYTES } from '../route.ts'
import { Count, ErrorCode, PassStatus, PositiveInt, pageOf, route, text, UtcTimestamp } from './schemas/common.ts'
import { IfMatch } from './schemas/if-match.ts'
import { PreviewLanguage } from './schemas/language-tags.ts'
import { booleanParam, dryRunParam, param } from './schemas/list-parameters.ts'
import { checkImport, importedFields } from './schemas/pass-import.ts'
import { Include, PassListQuery } from './schemas/pass-list-query.ts'
import { byPlatform, Platform } from './schemas/platform.ts'
import { RedemptionPolicy } from './schemas/redemption.ts'
import { PassWallets } from './wallets.ts'

const PassPreviewQuery = z
  .strictObject({
    platform: param(Platform, 'The platform to preview. Default: both.', 'apple'),
    format: z
      .enum(['json', 'html', 'pkpass'])
      .default('json')
      .meta({ description: 'The format of the response. pkpass requires platform=apple.', example: 'html' }),
    language: PreviewLanguage.optional(),
  })
  .refine(({ platform, format }) => format !== 'pkpass' || platform === 'apple', {
    path: ['format'],
    error: 'pkpass requires platform=apple',
  })
  .refine(({ format, language }) => format !== 'pkpass' || language === undefined, {
    path: ['language'],
    error: 'A pkpass contains every language: omit it',
  })

/** The content of a pass for each platform, or `null` if the platform is not configured or not requested. */
export const PassPreview = z.strictObject({
  apple: z.looseObject({}).nullable(),
  google: z.strictObject({ class: z.looseObject({}), object: z.looseObject({}) }).nullable(),
})
export type PassPreview = z.output<typeof PassPreview>

/** A JSON object with any keys. Not a record of zod, which would drop a key named __proto__. */
const Variables = z
  .custom<Record<string, unknown>>(
    (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
    'Must be an object of variables',
  )
  .meta({ type: 'object', additionalProperties: true })

const HostedLink = z.url().nullable()

/** The visit to a join page during which the pass was created. */
export const PassJoin = z.strictObject({
  slug: z.string().describe('The slug of the page when it created the pass.'),
  source: z.string().nullable().describe('The source of the visit, which is ?source= in the address of the page.'),
  consentVersion: z.string().nullable().describe('The version of the text to which the visitor consented.'),
  consentedAt: UtcTimestamp.nullable(),
})
export type PassJoin = z.output<typeof PassJoin>

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
  groupKey: z
    .string()
    .nullable()
    .describe('The key that the passes of a group in a project share, such as the tickets of an order.'),
  hostedLinks: z.strictObject({
    ...byPlatform(() => HostedLink),
    smart: HostedLink,
    group: HostedLink.describe(
      'A link to a page with all passes of the group. It is revoked if the links of any pass of the group are ' +
        'revoked.',
    ),
  }),
  join: PassJoin.optional().describe('Set if a join page created the pass.'),
  wallets: PassWallets.optional().describe('Set if the request has include=wallets.'),
})
export type Pass = z.output<typeof Pass>

const GroupKey = text(1, 255).nullable()

/** The ID of a pass in the system of the client, unique in the workspace. */
export const ExternalPassId = text(1, 255)

/** The request body that creates a pass. */
export const PassCreate = z.strictObject({
  externalPassId: ExternalPassId,
  label: text(1, 255),
  templateId: Uuid,
  variables: Variables.default({}),
  groupKey: GroupKey.optional().describe(
    'The group of the pass, which overrides the group that the template defines. Null means no group.',
  ),
})
export type PassCreate = z.output<typeof PassCreate>

/** An item of a batch, parsed separately as a PassCreate. Otherwise, an invalid item would fail the whole batch. */
const BatchItem = z.unknown().meta({ itemSchema: 'PassCreate' }) as z.ZodType<unknown, z.input<typeof PassCreate>>

/** A pass from another provider. It has no templateId: the request has one template for all its passes. */
export const PassImport = PassCreate.omit({ templateId: true }).extend(importedFields).superRefine(checkImport)
export type PassImport = z.output<typeof PassImport>

/** An item of a batch import, which is parsed separately as a PassImport. */
const ImportItem = z.unknown().meta({ itemSchema: 'PassImport' }) as z.ZodType<unknown, z.input<typeof PassImport>>

/** The result for one item of a batch. */
export const BatchResult = z.strictObject({
  externalPassId: z.string(),
  success: z.boolean(),
  created: z
    .boolean()
    .optional()
    .describe(
      'Set on success: true if this item created the pass, false if the pass already existed and is unchanged.',
    ),
  pass: Pass.optional(),
  error: z
    .strictObject({ code: ErrorCode, message: z.string(), details: z.record(z.string(), z.unknown()).optional() })
    .optional(),
})
export type BatchResult = z.output<typeof BatchResult>

/** The results of a batch, in the order of the request. */
export const BatchResults = z.strictObject({
  totalRequested: Count,
  totalCreated: Count,
  totalFailed: Count,
  results: z.array(BatchResult),
})
export type BatchResults = z.output<typeof BatchResults>

/** The fields that a PATCH can change. Omitted fields keep their values. */
export const PassUpdate = z.strictObject({
  label: text(1, 255).optional(),
  variables: Variables.optional(),
  templateVersion: z.union([PositiveInt, z.literal('latest')]).optional(),
  groupKey: GroupKey.optional().describe(
    'The new group of the pass. Null removes the pass from its group. If omitted, and if the template defines the ' +
      'group, the group follows the variables.',
  ),
  notify: z
    .boolean()
    .optional()
    .describe(
      'Whether Android phones alert their holder about changed fields with a changeMessage, as iPhones do ' +
        'automatically. The alert counts as one of the 3 google notifications that a pass can get in 24 hours. ' +
        'Beyond this limit, the pass changes without an alert.',
    ),
})
export type PassUpdate = z.output<typeof PassUpdate>

/** The request body that transfers a pass to another holder. */
export const PassTransfer = z.strictObject({
  label: text(1, 255).describe('The name of the new holder.'),
  variables: Variables.optional().describe('Variables to change, as in an update. Other variables keep their values.'),
})
export type PassTransfer = z.output<typeof PassTransfer>

/** The response to an update of a pass. */
export const UpdatedPass = Pass.extend({
  notified: z
    .boolean()
    .optional()
    .describe(
      'Set if the request has notify: whether Android phones alert their holder, or in a dry run, whether they would.',
    ),
})
export type UpdatedPass = z.output<typeof UpdatedPass>

const createErrors = ['TEMPLATE_NOT_FOUND', 'DUPLICATE_PASS', 'SYSTEM_VARIABLE_READONLY', 'CONFLICT'] as const

/** Routes of passes. */
export const passes = {
  create: route('POST', '/v1/passes', {
    scope: 'passes:write',
    summary: 'Create a pass',
    idempotent: true,
    description:
      'If a pass with this externalPassId exists, nothing changes, and the response is 200 with the existing pass.',
    body: PassCreate,
    responses: { 200: Pass, 201: Pass },
    errors: createErrors,
  }),
  createBatch: route('POST', '/v1/passes/batch', {
    scope: 'passes:write',
    summary: 'Create up to 100 passes',
    description:
      'Creates each pass as POST /v1/passes does, independently of the others. The response has one result per ' +
      'item, in the order of the request, with the pass or the error. totalCreated counts all successes, including ' +
      'passes that already existed.',
    idempotent: true,
    maxBodyBytes: LARGE_BODY_BYTES,
    body: z.strictObject({ passes: z.array(BatchItem).min(1).max(100) }),
    responses: { 200: BatchResults },
  }),
  import: route('POST', '/v1/passes/import', {
    scope: 'passes:write',
    role: 'owner',
    summary: 'Import up to 100 passes of another provider',
    description:
      'Holders keep the passes in their wallets, and receive the next update from this server. Each pass is ' +
      'imported independently, without an event. If a pass was imported before with the same content, nothing changes. ' +
      'If its content differs, its error is CONFLICT. If another pass has its externalPassId, serialNumber, or ' +
      'googleObjectId, its error is DUPLICATE_PASS. With dryRun, the response has the result of each item, and nothing is created.',
    idempotent: true,
    query: z.strictObject({ dryRun: dryRunParam }),
    maxBodyBytes: LARGE_BODY_BYTES,
    body: z.strictObject({
      templateId: Uuid,
      identityId: Uuid.optional().describe(
        'The Apple or Google identity of the passes. On a platform without a given identity, the passes get the ' +
          'same identity as new passes.',
      ),
      passes: z.array(ImportItem).min(1).max(100),
    }),
    responses: { 200: BatchResults },
    errors: ['TEMPLATE_NOT_FOUND'],
  }),
  get: route('GET', '/v1/passes/{id}', {
    scope: 'passes:read',
    summary: 'Read a pass',
    query: z.strictObject({ include: Include }),
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND'],
  }),
  list: route('GET', '/v1/passes', {
    scope: 'passes:read',
    summary: 'List passes',
    description:
      'A pass must match all parameters. If a parameter is repeated, the pass must match one of its values. A parameter ' +
      'can have at most 20 values; `search`, `variable`, and `label` with labelMatch=contains can have at most 5. ' +
      'projectId=null matches passes without a project. revision and templateVersion are a number, or a bound such ' +
      'as gte:3 or lte:7. installed=true matches passes that a wallet holds. stale=true matches passes with a ' +
      'wallet that lacks the newest version. With `platform`, `installed` and `stale` consider only wallets of this ' +
      'platform.',
    query: PassListQuery,
    responses: { 200: pageOf(Pass) },
  }),
  update: route('PATCH', '/v1/passes/{id}', {
    scope: 'passes:write',
    summary: 'Update a pass',
    description:
      'Variables in the request replace the stored values, and null removes a variable. Other variables keep their ' +
      'values. Each change creates one new revision. If If-Match does not contain the current revision, nothing is ' +
      'written, and the response is 412. With dryRun, nothing is written, and the response has no ETag. Send ' +
      'bulk=true if the request is one of many: the server then updates wallets with a lower priority.',
    query: z.strictObject({
      dryRun: dryRunParam,
      bulk: booleanParam.default(false).meta({
        description: 'Whether the request is one of many, so that wallets are updated with a lower priority.',
        example: true,
      }),
    }),
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
  rotateCode: route('POST', '/v1/passes/{id}/rotate-code', {
    scope: 'passes:write',
    summary: 'Give a pass a new scan code',
    description:
      'Use this endpoint if the scan code was leaked. Scans of the old code are rejected as `stale_identifier`, ' +
      'and wallets show the new code after an update. The request creates one revision, and one event pass.updated ' +
      'with changedFields `scanCode`. Each request creates another code, so send If-Match if you might send the ' +
      'request twice. If the pass does not show its scan code, for example because the barcode contains a variable ' +
      'instead, the response is 409: change the variable.',
    headers: z.object({ 'if-match': IfMatch.optional() }),
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND', 'PASS_ALREADY_VOIDED', 'PRECONDITION_FAILED', 'CONFLICT'],
  }),
  transfer: route('POST', '/v1/passes/{id}/transfer', {
    scope: 'passes:write',
    summary: 'Give a pass to another holder',
    description:
      'Changes the label, the variables, and the scan code with one revision and one event pass.updated, and ' +
      'revokes all previous links. In wallets of the previous holder, the pass becomes void: Apple devices can ' +
      'fetch the void pass for 30 days, and the Google object expires. The new holder adds the pass with a new ' +
      'link. Each request is another transfer, so send If-Match if you might send the request twice. If the ' +
      'content of the barcode would not change, the response is 409: change the variables in the barcode.',
    headers: z.object({ 'if-match': IfMatch.optional() }),
    body: PassTransfer,
    responses: { 200: Pass },
    errors: ['PASS_NOT_FOUND', 'PASS_ALREADY_VOIDED', 'PRECONDITION_FAILED', 'SYSTEM_VARIABLE_READONLY', 'CONFLICT'],
  }),
  void: route('POST', '/v1/passes/{id}/void', {
    scope: 'passes:write',
    summary: 'Void a pass',
    body: z.strictObject({ reason: text(1, 255).optional() }).default({}),
    responses: { 200: z.strictObject({ id: Uuid, status: z.literal('VOID') }) },
    errors: ['PASS_NOT_FOUND', 'PASS_ALREADY_VOIDED'],
  }),
  revokeLinks: route('POST', '/v1/passes/{id}/links/revoke', {
    scope: 'passes:write',
    summary: 'Revoke the hosted links of a pass',
    description: 'Passes in wallets are not affected. The next read of the pass returns new links.',
    responses: { 200: z.strictObject({ id: Uuid, revokedAt: UtcTimestamp, revokedCount: Count }) },
    errors: ['PASS_NOT_FOUND'],
  }),
  wallets: route('GET', '/v1/passes/{id}/wallets', {
    scope: 'passes:read',
    summary: 'Read the version of a pass in each wallet',
    responses: { 200: PassWallets },
    errors: ['PASS_NOT_FOUND'],
  }),
  preview: route('GET', '/v1/passes/{id}/preview', {
    scope: 'passes:read',
    summary: 'Preview a pass on each platform',
    description:
      'format=html returns a page that shows the pass as an iPhone and an Android phone show it. ' +
      'platform=apple&format=pkpass returns the signed package, which contains all languages. language=de selects ' +
      'the texts that phones in this language show.',
    rendersDefinition: true,
    query: PassPreviewQuery,
    files: ['application/vnd.apple.pkpass', 'text/html'],
    responses: { 200: PassPreview },
    errors: ['PASS_NOT_FOUND', 'CONFLICT', 'APPLE_SIGNING_FAILED'],
  }),
}
