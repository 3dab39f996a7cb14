import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/common.ts'
import type { RedemptionPolicy } from '../../core/contract/redemption.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { foldCase } from '../../core/rules/lists/search.ts'
import type { PassGroup } from '../../core/rules/pass/groups.ts'
import { expiryDate } from '../../core/rules/redemption/redemption-windows.ts'
import type { Variables } from '../../core/rules/template/variables.ts'
import { boundColumn, toDate } from '../db/dialect.ts'
import {
  type IdentityColumns,
  type IdentityIds,
  identityColumns,
  identityIdsOf,
  toIdentityColumns,
  toIdentityIds,
} from '../workspaces/identities-repository.ts'

/**
 * A pass as it is stored. The status differs from the visible one: an ISSUED pass past expiresAt is visible as EXPIRED, and a
 * QUEUED pass whose job a worker holds as ISSUING.
 */
export interface StoredPass extends IdentityIds {
  id: string
  workspaceId: string
  externalPassId: string
  label: string
  status: PassStatus
  version: number
  revision: number
  walletVersion: number
  templateId: string
  templateVersionId: string
  templateVersion: number
  /** Null if the template was deleted. */
  latestTemplateVersion: number | null
  templateName: string
  /** Null also if the project was deleted. */
  projectId: string | null
  projectName: string | null
  variables: Variables
  redemption: RedemptionPolicy | null
  expiresAt: Date | null
  scanCode: string
  /** The code of another provider's barcode; null if the template defines it. */
  scanPayload: string | null
  /** The name of the present holder's copy: the ID of the pass until it is transferred. */
  copyId: string
  /** The serial number at Apple: the copy ID, or the serial number of the provider that issued the pass. */
  serialNumber: string
  appleToken: string
  linkGeneration: number
  /** The address that phones must use from now on, while the workspace moves to another server; null is this server. */
  webServiceUrl: string | null
  /** The Google class that passes with the same key share; null if the version has no `google.classKey`. */
  googleClassId: string | null
  /** The name of an imported Google object, without the issuer; null if it follows this server's scheme. */
  googleObjectId: string | null
  /** The group of the pass, and the generation of the group's links. */
  group: (PassGroup & { generation: number }) | null
  /** The notification in the back field and its sequence number; null before the first one. */
  message: { notificationId: string; number: number } | null
  /** The Last-Modified time of the visible content, in whole seconds. */
  modifiedAt: Date
  createdAt: Date
  updatedAt: Date
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
  | 'expiresAt'
  | 'scanCode'
  | 'appleToken'
> &
  Partial<IdentityIds> & {
    /** Default: none. */
    googleClassId?: string | null
    group?: PassGroup | null
    /** The SHA-256 digest of the scannable code. */
    identifierDigest: Uint8Array
    /** The creation time, if it differs from that of the other passes. */
    createdAt?: Date
  }

/** Why issuing a pass failed. */
export interface PassError {
  code: ErrorCode
  message: string
}

/** A row of `passes` with the names of its template and project. */
export interface PassRow extends IdentityColumns {
  id: string
  workspace_id: string
  external_pass_id: string
  label: string
  status: PassStatus
  version: number
  revision: number
  wallet_version: number
  template_id: string
  template_version_id: string
  template_version: number
  latest_template_version: number | null
  template_name: string
  project_id: string | null
  project_name: string | null
  variables: string
  redemption: string | null
  expires_at: number | null
  scan_code: string
  scan_payload: string | null
  serial_number: string | null
  imported_serial_number: string | null
  google_object_id: string | null
  apple_token: string
  link_generation: number
  web_service_url: string | null
  google_class_id: string | null
  group_id: string | null
  group_key: string | null
  group_generation: number | null
  message_id: string | null
  message_count: number
  modified_at: number
  created_at: number
  updated_at: number
}

/** Adds the joins and columns of `PassRow` to a query that contains `passes`. */
export function selectPass(db: Knex, query: Knex.QueryBuilder): Knex.QueryBuilder {
  return query
    .leftJoin('templates', 'templates.id', 'passes.template_id')
    .leftJoin('projects', 'projects.id', 'passes.project_id')
    .leftJoin('group_links', 'group_links.group_id', 'passes.group_id')
    .select(...COLUMNS, {
      status: db.raw(`case when passes.status in ('QUEUED', 'ISSUING') then ${unissuedStatus} else passes.status end`),
      template_name: 'templates.name',
      project_id: 'projects.id',
      project_name: 'projects.name',
      group_generation: 'group_links.generation',
      web_service_url: db.raw('(select url from moves where moves.workspace_id = passes.workspace_id)'),
      latest_template_version: db.raw('case when templates.deleted_at is null then templates.published_version end'),
    })
}

const COLUMNS = [
  'id',
  'workspace_id',
  'external_pass_id',
  'label',
  'version',
  'revision',
  'wallet_version',
  'template_id',
  'template_version_id',
  'template_version',
  'variables',
  'redemption',
  'expires_at',
  'scan_code',
  'scan_payload',
  'serial_number',
  'imported_serial_number',
  ...identityColumns,
  'google_object_id',
  'apple_token',
  'link_generation',
  'google_class_id',
  'group_id',
  'group_key',
  'modified_at',
  'created_at',
  'updated_at',
  'message_id',
  'message_count',
].map((column) => `passes.${column}`)

const unissuedStatus = `case when (select 1 from jobs where jobs.subject = passes.id and jobs.kind = 'issue-pass'
  and jobs.claim_token is not null limit 1) is null then 'QUEUED' else 'ISSUING' end`

/** The stored statuses of a pass that is not issued yet. Only an earlier version stored ISSUING. */
export const UNISSUED: PassStatus[] = ['QUEUED', 'ISSUING']

/**
 * Returns the passes of a workspace that are past their expiry and not marked yet. There are rarely any, and an index covers the
 * query.
 */
export function lapsedPasses(db: Knex, workspaceId: string, now: number): Knex.QueryBuilder {
  return db('passes')
    .whereRaw(`${boundColumn(db, 'passes.workspace_id')} = ?`, [workspaceId])
    .where('passes.status', 'ISSUED')
    .where('passes.expires_at', '<=', now)
}

/** Returns the passes of a workspace that workers are issuing. */
export function issuingPasses(db: Knex, workspaceId: string): Knex.QueryBuilder {
  return db('jobs')
    .where({ workspace_id: workspaceId, kind: 'issue-pass' })
    .whereNotNull('claim_token')
    .select('subject')
}

export function toPass(row: PassRow): StoredPass {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    externalPassId: row.external_pass_id,
    label: row.label,
    status: row.status,
    version: row.version,
    revision: row.revision,
    walletVersion: row.wallet_version,
    templateId: row.template_id,
    templateVersionId: row.template_version_id,
    templateVersion: row.template_version,
    latestTemplateVersion: row.latest_template_version,
    templateName: row.template_name,
    projectId: row.project_id,
    projectName: row.project_name,
    variables: JSON.parse(row.variables),
    redemption: row.redemption === null ? null : JSON.parse(row.redemption),
    expiresAt: toDate(row.expires_at),
    scanCode: row.scan_code,
    scanPayload: row.scan_payload,
    copyId: row.serial_number ?? row.id,
    serialNumber: row.imported_serial_number ?? row.serial_number ?? row.id,
    ...toIdentityIds(row),
    appleToken: row.apple_token,
    linkGeneration: row.link_generation,
    webServiceUrl: row.web_service_url,
    googleClassId: row.google_class_id,
    googleObjectId: row.google_object_id,
    group:
      row.group_id === null ? null : { id: row.group_id, key: row.group_key!, generation: row.group_generation ?? 0 },
    message: row.message_id === null ? null : { notificationId: row.message_id, number: row.message_count },
    modifiedAt: new Date(row.modified_at),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

/** The order of inserts, so that two batches with the same passes never deadlock. */
export const byExternalId = (a: NewPass, b: NewPass) => (a.externalPassId < b.externalPassId ? -1 : 1)

/** Returns the columns of a new pass: QUEUED, with initial counters. */
export function toNewRow(workspaceId: string, pass: NewPass, at: Date) {
  return {
    id: pass.id,
    workspace_id: workspaceId,
    external_pass_id: pass.externalPassId,
    external_folded: foldCase(pass.externalPassId),
    status: 'QUEUED',
    version: 1,
    revision: 1,
    wallet_version: 1,
    template_id: pass.templateId,
    project_id: pass.projectId,
    scan_code: pass.scanCode,
    apple_token: pass.appleToken,
    ...toIdentityColumns(identityIdsOf(pass)),
    link_generation: 0,
    modified_at: at.getTime() - (at.getTime() % 1000),
    created_at: at.getTime(),
    updated_at: at.getTime(),
    ...toContentColumns(pass),
  }
}

/** Returns a new pass of the newest template version as `toNewRow` stores it, without reading it back. */
export function asStored(
  workspaceId: string,
  pass: NewPass & Pick<StoredPass, 'templateName' | 'projectName'>,
  at: Date,
  groupGeneration = 0,
): StoredPass {
  return {
    id: pass.id,
    workspaceId,
    externalPassId: pass.externalPassId,
    label: pass.label,
    status: 'QUEUED',
    version: 1,
    revision: 1,
    walletVersion: 1,
    templateId: pass.templateId,
    templateVersionId: pass.templateVersionId,
    templateVersion: pass.templateVersion,
    latestTemplateVersion: pass.templateVersion,
    templateName: pass.templateName,
    projectId: pass.projectId,
    projectName: pass.projectName,
    variables: pass.variables,
    redemption: pass.redemption,
    expiresAt: pass.expiresAt,
    scanCode: pass.scanCode,
    scanPayload: null,
    copyId: pass.id,
    serialNumber: pass.id,
    ...identityIdsOf(pass),
    appleToken: pass.appleToken,
    linkGeneration: 0,
    webServiceUrl: null,
    googleClassId: pass.googleClassId ?? null,
    googleObjectId: null,
    group: pass.group ? { ...pass.group, generation: groupGeneration } : null,
    message: null,
    modifiedAt: new Date(at.getTime() - (at.getTime() % 1000)),
    createdAt: at,
    updatedAt: at,
  }
}

/** The fields that an update can change, and the columns derived from them. */
export type PassContent = Pick<
  StoredPass,
  'label' | 'variables' | 'redemption' | 'expiresAt' | 'templateVersionId' | 'templateVersion'
> &
  Pick<NewPass, 'googleClassId' | 'group'>

/** Returns the columns of the fields that an update can change. */
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
    expires_at: content.expiresAt?.getTime() ?? null,
    expiry_date: content.expiresAt && expiryDate(content.expiresAt, content.redemption),
  }
}
