import { parseFaults } from '../../../wallets/sandbox/faults.ts'
import type { Config } from '../../boot/config.ts'
import { sandboxedPlatforms } from '../../boot/wallets.ts'
import { type Check, examine, failed, passed } from './check.ts'

/** What can be said of the settings by themselves. */
export function checkConfiguration(config: Config): Promise<Check[]> {
  return examine('Configuration', [
    {
      name: 'Platforms',
      fix: 'give the credentials of the platform, or leave it out: passes serve --platforms apple',
      look() {
        const sandboxed = sandboxedPlatforms(config)
        const states = config.platforms.map((name) => `${name} ${sandboxed.includes(name) ? 'in the sandbox' : 'real'}`)
        return passed(states.join(', '))
      },
    },
    {
      name: 'Settings',
      fix: 'passes serve --help lists what --fault takes',
      look() {
        parseFaults(config.faults)
        if (config.isProduction && config.allowInsecureWebhooks) {
          return failed(
            'Webhooks may be sent to hosts of the own network, which is for development.',
            'leave out --allow-insecure-webhooks (PASSES_ALLOW_INSECURE_WEBHOOKS)',
          )
        }
        return passed(config.isProduction ? 'for production' : 'not marked as production (--production)')
      },
    },
  ])
}
