import type { z } from 'zod'
import type * as balances from '../core/contract/balances.ts'
import type { Contract } from '../core/contract/contract.ts'
import type * as joinPages from '../core/contract/join-pages.ts'
import type * as broadcasts from '../core/contract/messages/broadcasts.ts'
import type * as notifications from '../core/contract/messages/notifications.ts'
import type * as passes from '../core/contract/passes.ts'
import type * as scanner from '../core/contract/scans/scanner.ts'
import type * as scans from '../core/contract/scans/scans.ts'
import type * as about from '../core/contract/schemas/about.ts'
import type * as definition from '../core/contract/schemas/definition.ts'
import type * as upgrades from '../core/contract/templates/upgrades.ts'
import type { Route, RouteCall, RouteResult } from '../core/route.ts'

/**
 * The types of the API. The declarations of the client use types of other folders only through this file. The package
 * of the client contains these types in full, without the schemas from which they derive.
 */

export type { BalanceEntry, BalanceEntryResult, PassBalance, PassBalances } from '../core/contract/balances.ts'
export type { Identity } from '../core/contract/identities.ts'
export type { JoinConsent, JoinField, JoinPage } from '../core/contract/join-pages.ts'
export type {
  Broadcast,
  BroadcastForecast,
  BroadcastStats,
  BroadcastStatus,
  GoogleVia,
} from '../core/contract/messages/broadcasts.ts'
export type {
  DeliveryState,
  MessageOptions,
  Notification,
  NotificationStatus,
  PlatformDelivery,
} from '../core/contract/messages/notifications.ts'
export type { BatchResult, BatchResults, Pass, PassJoin, PassPreview, UpdatedPass } from '../core/contract/passes.ts'
export type { Project, ProjectColor, ProjectFigures, ProjectStats } from '../core/contract/projects.ts'
export type { Door, DoorClaim, DoorInvitation } from '../core/contract/scans/doors.ts'
export type { OfflineResults, Snapshot, SnapshotItem } from '../core/contract/scans/scanner.ts'
export type {
  PolicyReplayResult,
  RedemptionCheck,
  RedemptionExplanation,
  ScanStats,
  ScanStatsByGate,
  ScanStatsByProject,
  ScanStatsByTime,
} from '../core/contract/scans/scans.ts'
export type { WhenFull, Zone, ZoneOccupancy } from '../core/contract/scans/zones.ts'
export type { BalanceDefinition, BalanceKind, BalanceRule } from '../core/contract/schemas/balances.ts'
export type { ErrorBody, ErrorBodyWithoutCode, Page, PassStatus } from '../core/contract/schemas/common.ts'
export type {
  AppleOverrides,
  ColorChoice,
  DefinitionInput,
  Design,
  DesignImage,
  DoorInstructions,
  GoogleKind,
  GoogleOverrides,
  ImageChoice,
  Nfc,
  PassType,
  ValueKind,
  VariableDefinition,
  VariableFormat,
  WrittenDefinition as Definition,
} from '../core/contract/schemas/definition.ts'
export type { Languages } from '../core/contract/schemas/language-tags.ts'
export type { PassFilter } from '../core/contract/schemas/pass-filter.ts'
export type { Platform } from '../core/contract/schemas/platform.ts'
export type { RedemptionPolicy, RedemptionTemplate } from '../core/contract/schemas/redemption.ts'
export type {
  Direction,
  DoorGroup,
  DoorView,
  GroupPass,
  LedgerReason,
  LedgerResult,
  PassSummary,
  ScanBalance,
  ScanContext,
  ScanItem,
  ScanMetadata,
  ScanReasonCode,
  ScanRecord as Scan,
  ScanResponse,
  ScanResult,
  ScanZone,
} from '../core/contract/schemas/scan-shapes.ts'
export type { Warning, WarningCode } from '../core/contract/schemas/warnings.ts'
export type { Image, ImageType } from '../core/contract/templates/images.ts'
export type {
  TemplatePreview,
  TemplateVersion,
  TemplateVersionDetail,
} from '../core/contract/templates/template-versions.ts'
export type { Template, VariablesSchema } from '../core/contract/templates/templates.ts'
export type { Upgrade, UpgradeStatus } from '../core/contract/templates/upgrades.ts'
export type {
  DeviceLog,
  Freshness,
  PassWallets,
  PlatformRejection,
  StaleReason,
  WalletItem,
} from '../core/contract/wallets.ts'
export type {
  Attempt as DeliveryAttempt,
  Delivery,
  DeliveryDetail,
  DeliveryEventType as EventType,
  DeliveryStatus,
  Envelope,
  FollowedEvent,
  SubscribableEvent,
} from '../core/contract/webhooks/deliveries.ts'
export type { EventData } from '../core/contract/webhooks/event-data.ts'
export type { Webhook, WebhookStatus, WebhookWithSecret } from '../core/contract/webhooks/webhooks.ts'
export type { CurrentToken as Token, Workspace } from '../core/contract/workspace.ts'
export type { ErrorCode } from '../core/errors.ts'
export type { RejectionReason, SignatureCheck } from '../core/rules/crypto/signature.ts'

/** The facts of an event in a definition. */
export type EventFacts = z.output<typeof about.EventFacts>
/** The facts of a trip in a definition. */
export type TripFacts = z.output<typeof about.TripFacts>
/** A place of departure or arrival in a definition. */
export type Stop = z.output<typeof about.Stop>
/** A field of a definition. */
export type FieldDefinition = z.output<typeof definition.FieldDefinition>
/** The request to change a balance. */
export type BalanceEntryCreate = z.input<typeof balances.BalanceEntryCreate>
/** The request to reverse an entry of a balance. */
export type BalanceEntryReversal = z.input<typeof balances.BalanceEntryReversal>
/** The request to send a broadcast. */
export type BroadcastCreate = z.input<typeof broadcasts.BroadcastCreate>
/** The request to send a notification. */
export type NotificationCreate = z.input<typeof notifications.MessageCreate>
/** A decision that was made offline. */
export type OfflineScan = z.input<typeof scanner.OfflineScan>
/** The request to upgrade the passes of a template. */
export type UpgradeCreate = z.input<typeof upgrades.UpgradeCreate>
/** The request to create or replace a join page. */
export type JoinPageWrite = z.input<typeof joinPages.JoinPageWrite>
/** The request to create a pass. */
export type PassCreate = z.input<typeof passes.PassCreate>
/** A pass to import. */
export type PassImport = z.input<typeof passes.PassImport>
/** The request to give a pass to another holder. */
export type PassTransfer = z.input<typeof passes.PassTransfer>
/** The changes to a pass. */
export type PassUpdate = z.input<typeof passes.PassUpdate>
/** The request to evaluate recorded scans again under another policy. */
export type PolicyReplay = z.input<typeof scans.PolicyReplay>
/** The request to record a scan. */
export type ScanCreate = z.input<typeof scans.ScanCreate>
/** The request to reverse a scan. */
export type ScanReversal = z.input<typeof scans.ScanReversal>

/** Options of one call. */
export interface CallOptions {
  signal?: AbortSignal
  /** Receives the status of the response. For a create, 201 means new, and 200 means that the resource existed. */
  onResponse?: (answer: { status: number }) => void
  /** Set if the request is safe to repeat. The client then sends it again if its response is lost. */
  idempotent?: true
}

/** Options of an event stream. */
export interface FollowOptions {
  signal?: AbortSignal
  /** Called each time the stream connects to the server: at the start, and after each reconnection. */
  onOpen?: () => void
}

/**
 * Yields each event of a stream once. If the connection ends, reconnects and resumes after the last received event.
 * Ends when the signal is aborted or the loop over the events ends.
 * @throws ApiError if the server permanently rejects the request, for example after its token expired
 * @throws ConnectionError if no server responds at the start
 */
type Follow<R extends Route> = (call?: RouteCall<R>, options?: FollowOptions) => AsyncGenerator<RouteResult<R>>

type Method<R extends Route> =
  Record<never, never> extends RouteCall<R>
    ? (call?: RouteCall<R>, options?: CallOptions) => Promise<RouteResult<R>>
    : (call: RouteCall<R>, options?: CallOptions) => Promise<RouteResult<R>>

/** The endpoints as typed methods: client.passes.get({ params: { id } }). */
export type Methods = {
  [Resource in keyof Contract]: {
    [Operation in keyof Contract[Resource]]: Contract[Resource][Operation] extends Route
      ? Contract[Resource][Operation] extends { eventStream: true }
        ? Follow<Contract[Resource][Operation]>
        : Method<Contract[Resource][Operation]>
      : never
  }
}
