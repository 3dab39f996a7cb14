import type { AllHandlers } from '../http/mount.ts'
import { doors } from './doors/doors.ts'
import { identities } from './identities.ts'
import { broadcasts } from './messages/broadcasts.ts'
import { notifications } from './messages/notifications.ts'
import { passes } from './passes/passes.ts'
import { wallets } from './passes/wallets.ts'
import { scanner } from './scans/scanner.ts'
import { scans } from './scans/scans.ts'
import { images } from './templates/images.ts'
import { projects } from './templates/projects.ts'
import { templateVersions } from './templates/template-versions.ts'
import { templates } from './templates/templates.ts'
import { deliveries } from './webhooks/deliveries.ts'
import { events } from './webhooks/events.ts'
import { webhooks } from './webhooks/webhooks.ts'
import { tokens, workspace } from './workspace.ts'

export const handlers: AllHandlers = {
  projects,
  templates,
  templateVersions,
  images,
  passes,
  notifications,
  broadcasts,
  webhooks,
  deliveries,
  events,
  scans,
  scanner,
  doors,
  identities,
  wallets,
  tokens,
  workspace,
}
