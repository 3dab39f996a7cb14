import type { PageWords } from '../page-words.ts'

/** English: see PageWords. */
export const englishWords: PageWords = {
  addTo: 'Add to {wallet}',
  share: 'Add this pass to {wallet}.',
  or: '{wallet} or {other}',
  sandbox: {
    all: 'SANDBOX - not a real pass: no phone accepts it',
    one: 'SANDBOX - not a real pass in {wallet}: no {phone} accepts it',
  },
  androidPhone: 'Android phone',
  validUntil: 'Valid until {time}',
  addToCalendar: 'Add to calendar',
  more: 'More about this pass',
  state: { ready: 'Ready to add', preparing: 'Being prepared' },
  inApp: {
    title: 'Open in your browser:',
    text: 'this app may not be able to add passes. See its menu, or copy the link.',
    address: 'Link to this page',
    copy: 'Copy link',
    copied: 'The link is copied.',
  },
  phone: {
    code: 'QR code of this page’s address',
    title: 'Continue on your phone',
    text: 'Scan this code with its camera.',
  },
  issuedBy: 'Issued by {organization}',
  reference: 'Reference: {reference}',
  problems: {
    revoked: {
      title: 'This link was withdrawn',
      what: 'Whoever issued the pass has ended this link, so the pass can no longer be added with it. A pass that is in a wallet already is not affected.',
      advice: 'If you still need to add the pass, ask whoever sent it for a new link.',
    },
    void: {
      title: 'This pass was cancelled',
      what: 'Whoever issued the pass has cancelled it, so it can no longer be added or used.',
      advice: 'If you did not expect that, ask whoever sent it.',
    },
    failed: {
      title: 'This pass could not be made',
      what: 'Something went wrong while the pass was prepared, so there is nothing to add yet. It is nothing that you did.',
      advice: 'Tell whoever sent the link. Once they have put it right, this same link works again.',
    },
    expired: {
      title: 'This pass has expired',
      what: 'The time for which this pass was valid is over, so it can no longer be added.',
      advice: 'If you think it should still be valid, ask whoever sent it.',
    },
    suspended: {
      title: 'This link is closed for now',
      what: 'Passes of this issuer cannot be added at the moment. A pass that is in a wallet already is not affected.',
      advice: 'Try this same link again later, or ask whoever sent it.',
    },
    linkExpired: {
      title: 'This link has expired',
      what: 'Links to add a pass work for a limited time, and that of this one is over.',
      advice: 'Ask whoever sent it for a new link.',
    },
    malformed: {
      title: 'This link is not complete',
      what: 'A part of its address is missing or was changed; long links are sometimes cut off in messages.',
      advice:
        'Open the link again from the message that it came in, or copy the whole of it. If that does not help, ask for a new one.',
    },
    platform: {
      title: 'This wallet is not available',
      what: 'The pass can no longer be added to this kind of wallet.',
      advice: 'Ask whoever sent the link for another way to get the pass.',
    },
    unknown: {
      title: 'This link is not valid',
      what: 'It does not lead to any pass. It may have been mistyped or changed on its way to you.',
      advice:
        'Open the link again from the message that it came in. If that does not help, ask whoever sent it for a new one.',
    },
    busy: {
      title: 'Too many visits at once',
      what: 'More links were opened from your network than can be answered right now.',
      advice: 'Wait a few seconds, then load this page again.',
    },
    fault: {
      title: 'The pass cannot be shown right now',
      what: 'Something does not work on our side. Your link and your pass are not affected.',
      advice: 'Load this page again in a minute.',
    },
    refused: {
      title: 'This pass cannot be added to {wallet}',
      what: '{wallet} does not take it as it is. It is nothing that you did, and trying again will not help.',
      advice: 'Tell whoever sent the link. Once they have put it right, this same link works again.',
    },
  },
}
