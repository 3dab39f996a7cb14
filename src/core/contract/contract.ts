import type { Route } from '../route.ts'
import { balances } from './balances.ts'
import { broadcasts } from './broadcasts.ts'
import { deliveries, events } from './deliveries.ts'
import { doors } from './doors.ts'
import { identities } from './identities.ts'
import { images } from './images.ts'
import { joinPages } from './join-pages.ts'
import { notifications } from './notifications.ts'
import { passes } from './passes.ts'
import { projects } from './projects.ts'
import { scanner } from './scanner.ts'
import { scans } from './scans.ts'
import { templateVersions } from './template-versions.ts'
import { templates } from './templates.ts'
import { upgrades } from './upgrades.ts'
import { wallets } from './wallets.ts'
import { webhooks } from './webhooks.ts'
import { tokens, workspace } from './workspace.ts'
import { zones } from './zones.ts'

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
