import type { Route } from '../route.ts'
import { balances } from './balances.ts'
import { identities } from './identities.ts'
import { joinPages } from './join-pages.ts'
import { broadcasts } from './messages/broadcasts.ts'
import { notifications } from './messages/notifications.ts'
import { passes } from './passes.ts'
import { projects } from './projects.ts'
import { doors } from './scans/doors.ts'
import { scanner } from './scans/scanner.ts'
import { scans } from './scans/scans.ts'
import { zones } from './scans/zones.ts'
import { images } from './templates/images.ts'
import { templateVersions } from './templates/template-versions.ts'
import { templates } from './templates/templates.ts'
import { upgrades } from './templates/upgrades.ts'
import { wallets } from './wallets.ts'
import { deliveries, events } from './webhooks/deliveries.ts'
import { webhooks } from './webhooks/webhooks.ts'
import { tokens, workspace } from './workspace.ts'

/** Every endpoint of the API, by resource and operation. */
export const contract = {
  projects,
  templates,
  templateVersions,
  upgrades,
  joinPages,
  images,
  passes,
  balances,
  notifications,
  broadcasts,
  webhooks,
  deliveries,
  events,
  scans,
  scanner,
  doors,
  zones,
  identities,
  wallets,
  tokens,
  workspace,
} satisfies Record<string, Record<string, Route>>
/** The type of the contract. The types of the server and the client derive from it. */
export type Contract = typeof contract
