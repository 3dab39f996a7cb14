import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import type { RedemptionPolicy } from '../../core/contract/schemas/redemption.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { BalanceSums } from '../../core/rules/balances/balances.ts'
import { foldCase } from '../../core/rules/lists/search.ts'
import type { PassGroup } from '../../core/rules/pass/groups.ts'
import { expiryDate } from '../../core/rules/redemption/redemption-windows.ts'
import type { Variables } from '../../core/rules/template/variables.ts'
import { boundColumn } from '../db/dialect.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { type IdentityIds, identityFields, identityIdsOf } from '../workspaces/identities-repository.ts'

const PASS = mapping({
  id: field.text,
  workspaceId: field.text,
  externalPassId: field.text,
  label: field.text,
  /**
   * The stored status. After `expiresAt`, it can still be ISSUED, although users see EXPIRED. ISSUING is not stored:
   * `selectPass` derives it from the job of the pass.
   */
  status: field.plain<PassStatus>(),
  version: field.number,
  revision: field.number,
  walletVersion: field.number,
  templateId: field.text,
  templateVersionId: field.text,
  templateVersion: field.number,
  /** Null if the pass has no project, or its project was deleted. */
  projectId: field.optionalText,
  variables: field.json<Variables>(),
  redemption: field.nullable(field.json<RedemptionPolicy>()),
  hasBalances: field.flag,
  /** Null before the first balance entry. */
  balanceSums: field.nullable(field.json<BalanceSums>()),
  expiresAt: field.optionalTime,
  scanCode: field.text,
  /** The code in the barcode of another provider; null if the template defines the code. */
  scanPayload: field.optionalText,
  ...identityFields,
  /** The name of an imported Google object, without the issuer; null if the name follows this server's scheme. */
  googleObjectId: field.optionalText,
  appleToken: field.text,
  linkGeneration: field.number,
  /** The Google class that passes with the same key share; null if the version has no `google.classKey`. */
  googleClassId: field.optionalText,
  /** The Last-Modified time of the visible content, in whole seconds. */
  modifiedAt: field.time,
  createdAt: field.time,
  updatedAt: field.time,
})

/** The columns from which `toPass` derives fields of a pass. */
const DERIVED = mapping({
  serialNumber: field.optionalText,
  importedSerialNumber: field.optionalText,
  groupId: field.optionalText,
  groupKey: field.optionalText,
  messageId: field.optionalText,
  messageCount: field.number,
  joinSlug: field.optionalText,
  joinSource: field.optionalText,
  consentVersion: field.optionalText,
  consentedAt: field.optionalTime,
  joinInstalledAt: field.optionalTime,
})

const JOINED = mapping({
  /** Null if the template was deleted. */
  latestTemplateVersion: field.optionalNumber,
  templateName: field.text,
  projectName: field.optionalText,
  /** The address of another server, if the phones of the workspace are moving to it. */
  webServiceUrl: field.optionalText,
})

export interface StoredPass extends RecordOf<typeof PASS>, RecordOf<typeof JOINED> {
  /** The ID of the current holder's copy: at first the ID of the pass, and a new ID after each transfer. */
  copyId: string
  /** The serial number at Apple: the copy ID, or the serial number of the provider that issued the pass. */
  serialNumber: string
  /** The group of the pass, and the generation of the group's links. */
  group: (PassGroup & { generation: number }) | null
  /** The notification in the back field and its sequence number; null before the first notification. */
  message: { notificationId: string; number: number } | null
  join: (PassJoin & { installedAt: Date | null }) | null
}

/** The join-page visit that created a pass. */
export interface PassJoin {
  slug: string
  source: string | null
  /** Null, like `consentedAt`, if the visitor did not consent. */
  consentVersion: string | null
  consentedAt: Date | null
}

/** The fields of a new pass. Counters and the status have initial values. */
export type NewPass = Pick<
  StoredPass,
  | 'id'
  | 'externalPassId'
  | 'label'
  | 'templateId'
  | 'templateVersionId'
  | 'templateVersion'
  | 'projectId'
  | 'variables'
  | 'redemption'
  | 'hasBalances'
  | 'expiresAt'
  | 'scanCode'
  | 'appleToken'
> &
  Partial<IdentityIds> & {
    googleClassId?: string | null
    group?: PassGroup | null
    join?: PassJoin | null
    /** The SHA-256 digest of the scannable code. */
    identifierDigest: Uint8Array
    /** The creation time, if it differs from the time of the request. */
    createdAt?: Date
  }

/** The reason that a pass failed: it could not be issued, or its only platform rejected it. */
export interface PassError {
  code: ErrorCode
  message: string
}

export interface PassRow extends RowOf<typeof PASS>, RowOf<typeof DERIVED>, RowOf<typeof JOINED> {
  group_generation: number | null
}

/** Adds the joins and columns of `PassRow` to a query that contains `passes`. */
export function selectPass(db: Knex, query: Knex.QueryBuilder): Knex.QueryBuilder {
  const status = db.raw(
    `case when passes.status in ('QUEUED', 'ISSUING') then ${unissuedStatus} else passes.status end`,
  )
  return query
    .leftJoin('templates', 'templates.id', 'passes.template_id')
    .leftJoin('projects', 'projects.id', 'passes.project_id')
    .leftJoin('group_links', 'group_links.group_id', 'passes.group_id')
    .select(PASS.from('passes', { status, project_id: 'projects.id' }), DERIVED.from('passes'), {
      template_name: 'templates.name',
      project_name: 'projects.name',
      group_generation: 'group_links.generation',
      web_service_url: db.raw('(select url from moves where moves.workspace_id = passes.workspace_id)'),
      latest_template_version: db.raw('case when templates.deleted_at is null then templates.published_version end'),
    })
}

const unissuedStatus = `case when (select 1 from jobs where jobs.subject = passes.id and jobs.kind = 'issue-pass'
  and jobs.claim_token is not null limit 1) is null then 'QUEUED' else 'ISSUING' end`

/** The stored statuses of a pass that is not issued yet. Only earlier versions of the program stored ISSUING. */
export const UNISSUED: PassStatus[] = ['QUEUED', 'ISSUING']

/** Returns the status to store: QUEUED instead of ISSUING, which `selectPass` derives from the job of the pass. */
export const toStoredStatus = (status: PassStatus) => (status === 'ISSUING' ? 'QUEUED' : status)

/**
 * Returns the passes of a workspace that are past their expiry but not marked as EXPIRED yet. An index finds these few
 * passes.
 */
export function lapsedPasses(db: Knex, workspaceId: string, now: number): Knex.QueryBuilder {
  return db('passes')
    .whereRaw(`${boundColumn(db, 'passes.workspace_id')} = ?`, [workspaceId])
    .where('passes.status', 'ISSUED')
    .where('passes.expires_at', '<=', now)
}

export function issuingPasses(db: Knex, workspaceId: string): Knex.QueryBuilder {
  return db('jobs')
    .where({ workspace_id: workspaceId, kind: 'issue-pass' })
    .whereNotNull('claim_token')
    .select('subject')
}

export function toPass(row: PassRow): StoredPass {
  const { group_id, group_key, message_id } = row
  const { joinSlug, joinSource, consentVersion, consentedAt, joinInstalledAt } = DERIVED.read(row)
  const copyId = row.serial_number ?? row.id
  return Object.assign(PASS.read(row), JOINED.read(row), {
    copyId,
    serialNumber: row.imported_serial_number ?? copyId,
    group: group_id === null ? null : { id: group_id, key: group_key!, generation: row.group_generation ?? 0 },
    message: message_id === null ? null : { notificationId: message_id, number: row.message_count },
    join:
      joinSlug === null
        ? null
        : { slug: joinSlug, source: joinSource, consentVersion, consentedAt, installedAt: joinInstalledAt },
  })
}

/** The order in which batches insert passes, so that two batches with the same passes never deadlock. */
export const byExternalId = (a: NewPass, b: NewPass) => (a.externalPassId < b.externalPassId ? -1 : 1)

export function toNewRow(workspaceId: string, pass: NewPass, at: Date) {
  return {
    ...PASS.write({
      id: pass.id,
      workspaceId,
      externalPassId: pass.externalPassId,
      status: 'QUEUED',
      version: 1,
      revision: 1,
      walletVersion: 1,
      templateId: pass.templateId,
      projectId: pass.projectId,
      scanCode: pass.scanCode,
      appleToken: pass.appleToken,
      ...identityIdsOf(pass),
      linkGeneration: 0,
      modifiedAt: new Date(at.getTime() - (at.getTime() % 1000)),
      createdAt: at,
      updatedAt: at,
    }),
    external_folded: foldCase(pass.externalPassId),
    ...toJoinColumns(pass.join ?? null),
    ...toContentColumns(pass),
  }
}

function toJoinColumns(join: PassJoin | null) {
  return DERIVED.write({
    joinSlug: join?.slug ?? null,
    joinSource: join?.source ?? null,
    consentVersion: join?.consentVersion ?? null,
    consentedAt: join?.consentedAt ?? null,
  })
}

/** Returns a new pass of the newest template version as a read would return it after the insert. */
export function asStored(
  workspaceId: string,
  pass: NewPass & Pick<StoredPass, 'templateName' | 'projectName'>,
  at: Date,
  groupGeneration = 0,
): StoredPass {
  const { templateName, projectName, templateVersion } = pass
  const joined = { templateName, projectName, latestTemplateVersion: templateVersion, webServiceUrl: null }
  return toPass({
    ...EMPTY_COLUMNS,
    ...toNewRow(workspaceId, pass, at),
    ...JOINED.write(joined),
    group_generation: groupGeneration,
  })
}

/** The columns that are empty in a new pass, unless it was imported. */
const EMPTY_COLUMNS = {
  balance_sums: null,
  scan_payload: null,
  google_object_id: null,
  serial_number: null,
  imported_serial_number: null,
  message_id: null,
  message_count: 0,
  join_installed_at: null,
}

/** The fields that an update can change. */
export type PassContent = Pick<
  StoredPass,
  'label' | 'variables' | 'redemption' | 'hasBalances' | 'expiresAt' | 'templateVersionId' | 'templateVersion'
> &
  Pick<NewPass, 'googleClassId' | 'group'>

export function toContentColumns(content: PassContent) {
  return {
    label: content.label,
    label_folded: foldCase(content.label),
    template_version_id: content.templateVersionId,
    template_version: content.templateVersion,
    google_class_id: content.googleClassId ?? null,
    group_id: content.group?.id ?? null,
    group_key: content.group?.key ?? null,
    variables: JSON.stringify(content.variables),
    redemption: content.redemption && JSON.stringify(content.redemption),
    has_windows: (content.redemption?.windows?.length ?? 0) > 0,
    has_balances: content.hasBalances,
    expires_at: content.expiresAt?.getTime() ?? null,
    expiry_date: content.expiresAt && expiryDate(content.expiresAt, content.redemption),
  }
}
