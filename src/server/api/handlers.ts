import type { AllHandlers } from '../http/mount.ts'
import { balances } from './balances/balances-handlers.ts'
import { doors } from './doors/doors-handlers.ts'
import { joinPages } from './join-pages-handlers.ts'
import { broadcasts } from './messages/broadcasts-handlers.ts'
import { notifications } from './messages/notifications-handlers.ts'
import { passes } from './passes/passes-handlers.ts'
import { wallets } from './passes/wallets-handlers.ts'
import { projects } from './projects-handlers.ts'
import { scanner } from './scans/scanner-handlers.ts'
import { scans } from './scans/scans-handlers.ts'
import { images } from './templates/images-handlers.ts'
import { templateVersions } from './templates/template-versions-handlers.ts'
import { templates } from './templates/templates-handlers.ts'
import { upgrades } from './templates/upgrades-handlers.ts'
import { deliveries } from './webhooks/deliveries-handlers.ts'
import { events } from './webhooks/events-handlers.ts'
import { webhooks } from './webhooks/webhooks-handlers.ts'
import { identities, tokens, workspace } from './workspace-handlers.ts'
import { zones } from './zones/zones-handlers.ts'

export const handlers: AllHandlers = {
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
}
