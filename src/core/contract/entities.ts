import { z } from 'zod'
import {
  BalanceEntry,
  BalanceEntryCreate,
  BalanceEntryResult,
  BalanceEntryReversal,
  PassBalance,
  PassBalances,
} from './balances.ts'
import {
  Broadcast,
  BroadcastCreate,
  BroadcastForecast,
  BroadcastStats,
  BroadcastStatus,
  GoogleVia,
} from './broadcasts.ts'
import {
  Attempt,
  Delivery,
  DeliveryDetail,
  DeliveryEventType,
  DeliveryStatus,
  Envelope,
  FollowedEvent,
  SubscribableEvent,
} from './deliveries.ts'
import { Door, DoorClaim, DoorInvitation } from './doors.ts'
import { type EventType, eventData } from './event-data.ts'
import { Identity } from './identities.ts'
import { Image, ImageType } from './images.ts'
import { JoinConsent, JoinField, JoinPage, JoinPageWrite } from './join-pages.ts'
import {
  DeliveryState,
  MessageCreate,
  MessageOptions,
  Notification,
  NotificationStatus,
  PlatformDelivery,
} from './notifications.ts'
import {
  BatchResult,
  BatchResults,
  Pass,
  PassCreate,
  PassImport,
  PassJoin,
  PassPreview,
  PassTransfer,
  PassUpdate,
  UpdatedPass,
} from './passes.ts'
import { Project, ProjectColor, ProjectFigures, ProjectStats } from './projects.ts'
import { OfflineResults, OfflineScan, Snapshot, SnapshotItem } from './scanner.ts'
import {
  PolicyReplay,
  PolicyReplayResult,
  RedemptionCheck,
  RedemptionExplanation,
  ScanCreate,
  ScanReversal,
  ScanStats,
  ScanStatsByGate,
  ScanStatsByProject,
  ScanStatsByTime,
} from './scans.ts'
import { EventFacts, Stop, TripFacts } from './schemas/about.ts'
import { BalanceDefinition, BalanceKind, BalanceRule } from './schemas/balances.ts'
import { ErrorBody, ErrorBodyWithoutCode, ErrorCode, PassStatus, pageOf } from './schemas/common.ts'
import {
  AppleOverrides,
  ColorChoice,
  Definition,
  Design,
  DesignImage,
  DoorInstructions,
  FieldDefinition,
  GoogleKind,
  GoogleOverrides,
  ImageChoice,
  Nfc,
  PassType,
  ValueKind,
  VariableDefinition,
  VariableFormat,
} from './schemas/definition.ts'
import { Languages } from './schemas/language-tags.ts'
import { PassFilter } from './schemas/pass-filter.ts'
import { Platform } from './schemas/platform.ts'
import { RedemptionPolicy, RedemptionTemplate } from './schemas/redemption.ts'
import {
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
  ScanRecord,
  ScanResponse,
  ScanResult,
  ScanZone,
} from './schemas/scan-shapes.ts'
import { Warning, WarningCode } from './schemas/warnings.ts'
import { TemplatePreview, TemplateVersion, TemplateVersionDetail } from './template-versions.ts'
import { Template, VariablesSchema } from './templates.ts'
import { Upgrade, UpgradeCreate, UpgradeStatus } from './upgrades.ts'
import { DeviceLog, Freshness, PassWallets, PlatformRejection, StaleReason, WalletItem } from './wallets.ts'
import { Webhook, WebhookStatus, WebhookWithSecret } from './webhooks.ts'
import { CurrentToken, Workspace } from './workspace.ts'
import { WhenFull, Zone, ZoneOccupancy } from './zones.ts'

/** The items of lists. The page of each is named after its item, such as PassPage. */
const items = {
  BalanceEntry,
  Broadcast,
  Delivery,
  DeviceLog,
  Door,
  Identity,
  Notification,
  Pass,
  Project,
  ScanItem,
  Template,
  Upgrade,
  WalletItem,
  Webhook,
  Zone,
}

const pages = Object.fromEntries(Object.entries(items).map(([name, item]) => [`${name}Page`, pageOf<z.ZodType>(item)]))

/** The body of each event by its type: the envelope with its data. */
export const eventBodies = new Map<EventType, z.ZodType>(
  Object.entries(eventData).map(([type, data]) => [
    type as EventType,
    z.strictObject({ ...Envelope.shape, type: z.literal(type), data }),
  ]),
)

/** The events, such as PassIssuedEvent for pass.issued. */
const events = Object.fromEntries([...eventBodies].map(([type, body]) => [`${toPascalCase(type)}Event`, body]))

function toPascalCase(type: string): string {
  return type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * The schemas of responses, by their name in /openapi.json. In a request, an object has the name with the suffix `Input`,
 * because a request forbids unknown properties, and a response does not.
 */
export const entities: Record<string, z.ZodType> = {
  ...items,
  ...pages,
  ...events,
  AppleOverrides,
  BalanceDefinition,
  BalanceEntryResult,
  BalanceKind,
  BalanceRule,
  BatchResult,
  BatchResults,
  BroadcastForecast,
  BroadcastStats,
  BroadcastStatus,
  ColorChoice,
  Definition,
  DeliveryAttempt: Attempt,
  DeliveryDetail,
  DeliveryState,
  DeliveryStatus,
  Design,
  DesignImage,
  Direction,
  DoorClaim,
  DoorGroup,
  DoorInstructions,
  DoorInvitation,
  DoorView,
  Envelope,
  Error: ErrorBody,
  ErrorCode,
  ErrorWithoutCode: ErrorBodyWithoutCode,
  EventFacts,
  EventType: DeliveryEventType,
  FieldDefinition,
  FollowedEvent,
  Freshness,
  GoogleKind,
  GoogleOverrides,
  GoogleVia,
  GroupPass,
  Image,
  ImageChoice,
  ImageType,
  JoinConsent,
  JoinField,
  JoinPage,
  Languages,
  LedgerReason,
  LedgerResult,
  MessageOptions,
  Nfc,
  NotificationStatus,
  OfflineResults,
  PassBalance,
  PassBalances,
  PassFilter,
  PassJoin,
  PassPreview,
  PassStatus,
  PassSummary,
  PassType,
  PassWallets,
  Platform,
  PlatformDelivery,
  PlatformRejection,
  PolicyReplayResult,
  ProjectColor,
  ProjectFigures,
  ProjectStats,
  RedemptionCheck,
  RedemptionExplanation,
  RedemptionPolicy,
  RedemptionTemplate,
  Scan: ScanRecord,
  ScanBalance,
  ScanContext,
  ScanMetadata,
  ScanReasonCode,
  ScanResponse,
  ScanResult,
  ScanStats,
  ScanStatsByGate,
  ScanStatsByProject,
  ScanStatsByTime,
  ScanZone,
  Snapshot,
  SnapshotItem,
  StaleReason,
  Stop,
  SubscribableEvent,
  TemplatePreview,
  TemplateVersion,
  TemplateVersionDetail,
  Token: CurrentToken,
  TripFacts,
  UpdatedPass,
  UpgradeStatus,
  ValueKind,
  VariableDefinition,
  VariableFormat,
  VariablesSchema,
  Warning,
  WarningCode,
  WebhookStatus,
  WebhookWithSecret,
  WhenFull,
  Workspace,
  ZoneOccupancy,
}

/** The schemas of request bodies and their parts, by their name in /openapi.json. */
export const requestEntities: Record<string, z.ZodType> = {
  BalanceEntryCreate,
  BalanceEntryReversal,
  BroadcastCreate,
  JoinPageWrite,
  NotificationCreate: MessageCreate,
  OfflineScan,
  PassCreate,
  PassImport,
  PassTransfer,
  PassUpdate,
  PolicyReplay,
  ScanCreate,
  ScanReversal,
  UpgradeCreate,
}
