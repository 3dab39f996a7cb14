import type { AllHandlers } from '../mount.ts'
import { broadcasts } from './broadcasts.ts'
import { images } from './images.ts'
import { notifications } from './notifications.ts'
import { passes } from './passes.ts'
import { projects } from './projects.ts'
import { templateVersions } from './template-versions.ts'
import { templates } from './templates.ts'
import { tokens } from './tokens.ts'

/** Every operation of the contract with its handler. */
export const handlers: AllHandlers = {
  projects,
  templates,
  templateVersions,
  images,
  passes,
  notifications,
  broadcasts,
  tokens,
}
