import type { PageWords } from '../page-words.ts'

/** French: see PageWords. */
export const french: PageWords = {
  addTo: 'Ajouter à {wallet}',
  share: 'Ajouter ce pass à {wallet}.',
  or: '{wallet} ou à {other}',
  sandbox: {
    all: 'SANDBOX – pas un vrai pass : aucun téléphone ne l’accepte',
    one: 'SANDBOX – pas un vrai pass dans {wallet} : aucun {phone} ne l’accepte',
  },
  androidPhone: 'téléphone Android',
  validUntil: 'Valable jusqu’au {time}',
  addToCalendar: 'Ajouter au calendrier',
  more: 'Plus sur ce pass',
  state: { ready: 'Prêt', preparing: 'En préparation' },
  inApp: {
    title: 'Ouvrez dans votre navigateur :',
    text: 'cette application ne peut peut-être pas ajouter de pass. Voyez son menu, ou copiez le lien.',
    address: 'Lien vers cette page',
    copy: 'Copier le lien',
    copied: 'Le lien est copié.',
  },
  phone: {
    code: 'Code QR de l’adresse de cette page',
    title: 'Continuer sur votre téléphone',
    text: 'Scannez ce code avec son appareil photo.',
  },
  issuedBy: 'Émis par {organization}',
  reference: 'Référence : {reference}',
  problems: {
    revoked: {
      title: 'Ce lien a été retiré',
      what: 'L’émetteur du pass a mis fin à ce lien : il ne permet plus d’ajouter le pass. Un pass déjà dans un portefeuille n’est pas concerné.',
      advice: 'Si vous avez encore besoin du pass, demandez un nouveau lien à l’expéditeur.',
    },
    void: {
      title: 'Ce pass a été annulé',
      what: 'L’émetteur du pass l’a annulé : il ne peut plus être ajouté ni utilisé.',
      advice: 'Si vous ne vous y attendiez pas, contactez l’expéditeur.',
    },
    failed: {
      title: 'Ce pass n’a pas pu être créé',
      what: 'Un problème est survenu pendant la préparation du pass : il n’y a encore rien à ajouter. Vous n’y êtes pour rien.',
      advice: 'Prévenez l’expéditeur. Une fois le problème corrigé, ce même lien fonctionnera.',
    },
    expired: {
      title: 'Ce pass a expiré',
      what: 'La période de validité de ce pass est terminée : il ne peut plus être ajouté.',
      advice: 'Si vous pensez qu’il devrait encore être valable, contactez l’expéditeur.',
    },
    suspended: {
      title: 'Ce lien est fermé pour le moment',
      what: 'Les pass de cet émetteur ne peuvent pas être ajoutés pour le moment. Un pass déjà dans un portefeuille n’est pas concerné.',
      advice: 'Réessayez ce même lien plus tard, ou contactez l’expéditeur.',
    },
    linkExpired: {
      title: 'Ce lien a expiré',
      what: 'Les liens d’ajout d’un pass ne fonctionnent que pendant un certain temps, et celui-ci est dépassé.',
      advice: 'Demandez un nouveau lien à l’expéditeur.',
    },
    malformed: {
      title: 'Ce lien n’est pas complet',
      what: 'Une partie de l’adresse manque ou a été modifiée ; les liens longs sont parfois coupés dans les messages.',
      advice:
        'Rouvrez le lien depuis le message, ou copiez-le en entier. Si cela ne suffit pas, demandez-en un nouveau.',
    },
    platform: {
      title: 'Ce portefeuille n’est pas disponible',
      what: 'Le pass ne peut plus être ajouté à ce type de portefeuille.',
      advice: 'Demandez à l’expéditeur une autre façon d’obtenir le pass.',
    },
    unknown: {
      title: 'Ce lien n’est pas valable',
      what: 'Il ne mène à aucun pass. Il a peut-être été mal saisi ou modifié en chemin.',
      advice: 'Rouvrez le lien depuis le message. Si cela ne suffit pas, demandez-en un nouveau à l’expéditeur.',
    },
    busy: {
      title: 'Trop de visites à la fois',
      what: 'Plus de liens ont été ouverts depuis votre réseau que nous ne pouvons en servir pour l’instant.',
      advice: 'Attendez quelques secondes, puis rechargez cette page.',
    },
    fault: {
      title: 'Le pass ne peut pas être affiché pour le moment',
      what: 'Quelque chose ne fonctionne pas de notre côté. Votre lien et votre pass ne sont pas touchés.',
      advice: 'Rechargez cette page dans une minute.',
    },
    refused: {
      title: 'Ce pass ne peut pas être ajouté à {wallet}',
      what: '{wallet} ne l’accepte pas tel quel. Vous n’y êtes pour rien, et réessayer n’aidera pas.',
      advice: 'Prévenez l’expéditeur. Une fois le problème corrigé, ce même lien fonctionnera.',
    },
  },
}
