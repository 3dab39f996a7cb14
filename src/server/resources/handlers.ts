import type { AllHandlers } from '../mount.ts'
import { broadcasts } from './broadcasts.ts'
import { deliveries } from './deliveries.ts'
import { images } from './images.ts'
import { notifications } from './notifications.ts'
import { passes } from './passes.ts'
import { projects } from './projects.ts'
import { scanner } from './scanner.ts'
import { scans } from './scans.ts'
import { templateVersions } from './template-versions.ts'
import { templates } from './templates.ts'
import { tokens } from './tokens.ts'
import { webhooks } from './webhooks.ts'
import { workspace } from './workspace.ts'

/** Every operation of the contract with its handler. */
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
  scans,
  scanner,
  tokens,
  workspace,
}
